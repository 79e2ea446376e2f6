import type { Container } from './container/container.ts';
import { type FileKind, kindOf } from './container/kind.ts';
import { openPlain } from './container/plain.ts';
import { openTar } from './container/tar.ts';
import { openZip } from './container/zip.ts';
import { EmojiNames } from './content/emoji-names.ts';
import { Walk } from './content/walk.ts';
import { mattermostWalk, PLAIN_NAME } from './mattermost/mattermost-reader.ts';
import { convertedFrom, convertedWalk } from './parley/converted-reader.ts';
import { parleyWalk } from './parley/parley-reader.ts';
import {
  ARCHIVE_LIMITS,
  type ArchiveContent,
  type ArchiveLimits,
  type ArchiveReader,
  type OpenOptions,
  UnreadableArchive,
} from './reader.ts';
import type { ArchiveRecord, ArchiveSource, Counts } from './record.ts';
import { slackWalk } from './slack/slack-reader.ts';
import { isWanted, zulipWalk } from './zulip/zulip-reader.ts';

interface WalkOptions {
  readonly container: Container;
  readonly scratch: string;
  readonly limits: ArchiveLimits;
  readonly emojis: EmojiNames;
}

interface Format {
  readonly kinds: readonly FileKind[];
  /** The required file, in words for people. */
  readonly files: string;
  /** Makes the walk through a container; throws `UnreadableArchive` where it has another format. */
  readonly walk: (
    options: WalkOptions,
  ) =>
    | Promise<(walk: Walk) => AsyncGenerator<ArchiveRecord[]>>
    | ((walk: Walk) => AsyncGenerator<ArchiveRecord[]>);
}

const FORMATS: Readonly<Record<ArchiveSource, Format>> = {
  slack: { kinds: ['zip'], files: 'the zip file that Slack exports', walk: slackWalk },
  mattermost: {
    kinds: ['zip', 'json'],
    files: 'a bulk export: a zip, or its JSONL file',
    walk: mattermostWalk,
  },
  zulip: { kinds: ['gzip', 'tar'], files: 'the .tar.gz file that Zulip exports', walk: zulipWalk },
  parley: {
    kinds: ['zip'],
    files: 'the zip file of an export of a conversation, or of a converted archive',
    walk: parleyWalk,
  },
};

/**
 * Opens an archive at a path of this machine; a converted archive has its original source. Rejects
 * with `UnreadableArchive` if it is none of the source, which is known within moments, except that
 * a packed tar is unpacked first.
 */
export async function openArchive(
  source: ArchiveSource,
  path: string,
  { scratch, limits: changed, signal }: OpenOptions,
): Promise<ArchiveReader> {
  const format = FORMATS[source];
  const kind = await kindOf(path);
  if (!format.kinds.includes(kind)) {
    throw new UnreadableArchive('not_an_archive', `This is not ${format.files}.`);
  }
  const limits = { ...ARCHIVE_LIMITS, ...changed };
  const emojis = await EmojiNames.load();
  const container = await openContainer(kind, path, { scratch, limits, signal });
  try {
    const converted = source === 'parley' ? await convertedFrom({ container, limits }) : undefined;
    const batches =
      converted === undefined
        ? await format.walk({ container, scratch, limits, emojis })
        : convertedWalk({ container, limits });
    return new WalkingReader(converted ?? source, container, batches, signal);
  } catch (error) {
    await container.close();
    throw error;
  }
}

function openContainer(
  kind: FileKind,
  path: string,
  options: { scratch: string; limits: ArchiveLimits; signal: AbortSignal | undefined },
): Promise<Container> {
  if (kind === 'zip') return openZip(path, options.limits);
  if (kind === 'json') return openPlain(path, PLAIN_NAME);
  return openTar(path, { ...options, gzip: kind === 'gzip', wanted: isWanted });
}

class WalkingReader implements ArchiveReader {
  readonly source: ArchiveSource;
  readonly #container: Container;
  readonly #batches: (walk: Walk) => AsyncGenerator<ArchiveRecord[]>;
  readonly #signal: AbortSignal | undefined;
  #walk = new Walk();

  constructor(
    source: ArchiveSource,
    container: Container,
    batches: (walk: Walk) => AsyncGenerator<ArchiveRecord[]>,
    signal: AbortSignal | undefined,
  ) {
    this.source = source;
    this.#container = container;
    this.#batches = batches;
    this.#signal = signal;
  }

  async *records(): AsyncGenerator<ArchiveRecord> {
    const walk = new Walk();
    this.#walk = walk;
    for await (const records of this.#batches(walk)) {
      this.#signal?.throwIfAborted();
      for (const record of records) yield record;
    }
    walk.finish();
  }

  found(): Counts {
    return this.#walk.found();
  }

  progress(): { readonly done: number; readonly total: number } {
    return { ...this.#walk.progress };
  }

  openFile(entry: string): Promise<ArchiveContent | undefined> {
    return this.#container.open(entry);
  }

  close(): Promise<void> {
    return this.#container.close();
  }
}
