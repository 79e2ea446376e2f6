import { createReadStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { createTarDecoder, type ParsedTarEntry } from 'modern-tar';
import { type ArchiveContent, type ArchiveLimits, UnreadableArchive } from '../reader.ts';
import { Contained, type Container, isClutter } from './container.ts';
import { Spool, type Stretch } from './spool.ts';

interface TarOptions {
  readonly scratch: string;
  readonly limits: ArchiveLimits;
  readonly gzip: boolean;
  /** Whether the file with this path is needed; others are left out. */
  readonly wanted: (path: string) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a tar, packed with gzip or not. Since it can be read from its beginning only, the wanted
 * files are unpacked into one file of the scratch directory. Rejects with `UnreadableArchive`.
 */
export async function openTar(path: string, options: TarOptions): Promise<Container> {
  const { scratch, limits, wanted, signal } = options;
  const spool = await Spool.create(scratch);
  const contained = new Contained<Stretch>(limits);
  try {
    for await (const { header, body } of entriesOf(path, options)) {
      // Exports contain no links and devices.
      if (header.type !== 'file' && header.type !== undefined) await body.cancel();
      else {
        const name = header.name.replace(/^(\.\/)+/, '');
        if (isClutter(name) || !wanted(name)) await body.cancel();
        else {
          contained.add(name, { at: spool.length, size: header.size }, Number.MAX_SAFE_INTEGER);
          for await (const piece of body) await spool.append(piece);
        }
      }
    }
  } catch (error) {
    await spool.close();
    throw signal?.aborted ? signal.reason : damaged(error);
  }
  return new TarContainer(spool, contained.files);
}

class TarContainer implements Container {
  readonly #spool: Spool;
  readonly entries: ReadonlyMap<string, Stretch>;

  constructor(spool: Spool, entries: ReadonlyMap<string, Stretch>) {
    this.#spool = spool;
    this.entries = entries;
  }

  async open(path: string): Promise<ArchiveContent | undefined> {
    const stretch = this.entries.get(path);
    return stretch && this.#spool.content(stretch);
  }

  close(): Promise<void> {
    return this.#spool.close();
  }
}

async function* entriesOf(
  path: string,
  { limits, gzip, signal }: TarOptions,
): AsyncGenerator<ParsedTarEntry> {
  const stages = gzip ? [createGunzip({ chunkSize: PIECE_BYTES })] : [];
  const packed = createReadStream(path, { highWaterMark: PIECE_BYTES });
  const measure = { packed: 0, unpacked: 0 };
  packed.on('data', (piece) => {
    measure.packed += piece.length;
  });
  const counted = new Transform({
    transform(piece: Buffer, _encoding, done) {
      measure.unpacked += piece.length;
      if (measure.unpacked > limits.unpackedBytes) {
        const message = `The archive unpacks to more than ${limits.unpackedBytes} bytes.`;
        return done(new UnreadableArchive('unsafe', message));
      }
      if (measure.unpacked > SMALL_BYTES && measure.unpacked > measure.packed * limits.ratio) {
        const message = `The archive unpacks to more than ${limits.ratio} times its size.`;
        return done(new UnreadableArchive('unsafe', message));
      }
      done(null, piece);
    },
  });
  let source: Readable = packed;
  for (const stage of [...stages, counted]) {
    const before = source;
    before.once('error', (error) => stage.destroy(error));
    stage.once('close', () => before.destroy());
    source = before.pipe(stage);
  }
  const abort = () => source.destroy(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const { readable, writable } = createTarDecoder({ strict: true });
    const written = Readable.toWeb(source).pipeTo(writable as WritableStream);
    written.catch(() => undefined);
    for await (const entry of readable) yield entry;
    await written;
  } finally {
    signal?.removeEventListener('abort', abort);
    source.destroy();
  }
}

const PIECE_BYTES = 64 * 1024;
const SMALL_BYTES = 16 * 2 ** 20;

function damaged(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof UnreadableArchive || (code !== undefined && !code.startsWith('Z_'))) return error;
  return new UnreadableArchive('damaged', `The archive is no tar archive, or damaged: ${message}.`);
}
