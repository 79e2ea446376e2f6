import { setTimeout as delay } from 'node:timers/promises';
import type { ArchiveReader } from '@parley/archives/reader.ts';
import type { ArchivedFile } from '@parley/archives/record.ts';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { kindOfUpload } from '@parley/protocol/resources/upload-kind.ts';
import { insertUpload, readUploads, type Upload } from '../../../core/attachments/uploads.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { NewAttachment } from '../../../core/messages/rows/new-message.ts';
import type { Fetched, GuardedFetch } from '../../../platform/outbound/guarded-fetch.ts';
import { OutboundError } from '../../../platform/outbound/outbound-url.ts';
import type { ImportRow } from '../imports/import-store.ts';
import type { Refs } from './refs.ts';

interface FilesOptions extends Pick<NodeParts, 'database' | 'store'> {
  readonly row: ImportRow;
  readonly refs: Refs;
  readonly reader: Pick<ArchiveReader, 'openFile'>;
  readonly web: Pick<GuardedFetch, 'fetch'>;
  readonly signal: AbortSignal;
  /** Milliseconds before each further try to fetch a file. */
  readonly retryMs?: readonly number[];
}

/** The message that a file belongs to. */
interface Owner {
  readonly client_message_id: string;
  /** Actor id. */
  readonly authorId: string;
}

interface Skipped {
  readonly reason: string;
  /** A sentence without addresses, because they may contain tokens. */
  readonly detail: string;
}

/**
 * Stores files of an archive as attachments: from the archive itself, or fetched from their
 * addresses through the guard of outbound requests. A file that an interrupted import stored is
 * found again.
 */
export class ImportedFiles {
  readonly #options: FilesOptions;

  constructor(options: FilesOptions) {
    this.#options = options;
  }

  /** Returns the files of a message that an import has stored. */
  async known(owner: Owner, files: readonly ArchivedFile[]): Promise<ReadonlySet<string>> {
    const refs = await this.#options.refs.find(
      this.#options.database,
      'file',
      files.map((file) => refOf(owner, file)),
    );
    return new Set(files.filter((file) => refs.has(refOf(owner, file))).map(({ id }) => id));
  }

  /** Returns the attachment, or why there is none. Rejects with the error of the store. */
  async store(owner: Owner, file: ArchivedFile, position: number): Promise<NewAttachment | Skipped> {
    const stored = await this.#stored(owner, file);
    const upload = stored ?? (await this.#take(owner, file));
    if ('reason' in upload) {
      return { ...upload, detail: `The file "${file.name}" (${file.id}): ${upload.detail}` };
    }
    return {
      id: newId('attachment'),
      position,
      kind: kindOfUpload(upload.content_type),
      s3_key: upload.s3_key,
      filename: file.name,
      content_type: upload.content_type,
      size_bytes: upload.size_bytes,
      url: null,
      resource_type: null,
      resource_id: null,
    };
  }

  async #stored(owner: Owner, file: ArchivedFile): Promise<Upload | undefined> {
    const { database, refs, row } = this.#options;
    const sourceId = refOf(owner, file);
    const ref = (await refs.find(database, 'file', [sourceId])).get(sourceId);
    if (ref === undefined) return undefined;
    return (await readUploads(database, row.account_id, [ref.id])).get(ref.id);
  }

  async #take(owner: Owner, file: ArchivedFile): Promise<Upload | Skipped> {
    const { store, signal } = this.#options;
    const most = store.maxBytes;
    if ((file.size ?? 0) > most) return tooLarge(most);
    if ('url' in file.source) return this.#fetch(owner, file, file.source.url);
    let content: Awaited<ReturnType<ArchiveReader['openFile']>>;
    try {
      content = await this.#options.reader.openFile(file.source.entry);
    } catch (error) {
      signal.throwIfAborted();
      return { reason: 'file_damaged', detail: messageOf(error) };
    }
    if (content === undefined) return { reason: 'file_missing', detail: 'The archive does not contain it.' };
    if (content.size > most) return tooLarge(most);
    const { size } = content;
    const broken: unknown[] = [];
    const bytes = noting(content.read(), (error) => broken.push(error));
    return await this.#keep(owner, file, { size, contentType: file.content_type }, bytes).catch((error) => {
      signal.throwIfAborted();
      if (broken.length === 0) throw error;
      return { reason: 'file_damaged', detail: messageOf(broken[0]) };
    });
  }

  async #fetch(owner: Owner, file: ArchivedFile, url: string): Promise<Upload | Skipped> {
    const fetched = await this.#fetched(url);
    if ('reason' in fetched) return fetched;
    const { status, contentType, bytes, truncated } = fetched;
    if (status !== 200) return unavailable(`It answers with the status ${status}.`);
    if (truncated) return tooLarge(this.#options.store.maxBytes);
    const isPage = /^text\/html\b/i.test(contentType) && !/^text\/html\b/i.test(file.content_type ?? '');
    if (isPage && !/\.html?$/i.test(file.name)) {
      return unavailable('A web page is there, as for callers that are not signed in.');
    }
    if (file.size !== null && file.size !== bytes.length) {
      return { reason: 'file_damaged', detail: `It has ${bytes.length} bytes, not ${file.size}.` };
    }
    const type = file.content_type ?? contentType.split(';')[0]!.trim();
    return this.#keep(owner, file, { size: bytes.length, contentType: type }, once(bytes));
  }

  /** Retries temporary failures: a missing answer, or an answer that asks for a retry. */
  async #fetched(url: string): Promise<Fetched | Skipped> {
    const { web, store, signal, retryMs = RETRY_MS } = this.#options;
    for (let tries = 0; ; tries++) {
      const deadline = AbortSignal.timeout(WHOLE_MS);
      const outcome = await web
        .fetch(url, {
          maxBytes: store.maxBytes,
          mayAsk: () => true,
          wants: () => true,
          headersFor: (host) => this.#headersFor(host),
          signal: AbortSignal.any([signal, deadline]),
        })
        .catch((error: unknown) => {
          signal.throwIfAborted();
          if (deadline.aborted) return unavailable(`It did not come whole within ${WHOLE_MS / 1_000} s.`);
          if (error instanceof OutboundError) return { ...unavailable(error.message), error };
          if (error instanceof ApiError) return unavailable(error.message);
          throw error;
        });
      const mayPass =
        'status' in outcome
          ? outcome.status === 429 || outcome.status >= 500
          : 'error' in outcome && outcome.error.condition === 'connection_error';
      const pause = retryMs[tries];
      if (!mayPass || pause === undefined) return outcome;
      await delay(pause, undefined, { signal });
    }
  }

  /** Returns the headers; the token goes only to hosts of the service. */
  #headersFor(host: string): Readonly<Record<string, string>> {
    const { source, options } = this.#options.row;
    const isOfService = source === 'slack' && /(^|\.)slack\.com$/.test(host);
    return {
      Accept: '*/*',
      'User-Agent': 'Parley (import)',
      ...(isOfService &&
        options.file_token !== undefined && { Authorization: `Bearer ${options.file_token}` }),
    };
  }

  /** Registers the file first, so that bytes of a killed import are removed. */
  async #keep(
    owner: Owner,
    file: ArchivedFile,
    { size, contentType }: { readonly size: number; readonly contentType: string | null },
    bytes: AsyncIterable<Buffer>,
  ): Promise<Upload | Skipped> {
    const { database, store, refs, row } = this.#options;
    if (size === 0) return { reason: 'file_empty', detail: 'It has no bytes.' };
    const type =
      contentType !== null && MEDIA_TYPE.test(contentType) ? contentType : 'application/octet-stream';
    const upload = {
      s3_key: newId('upload'),
      filename: file.name,
      content_type: type.toLowerCase(),
      size_bytes: size,
    };
    try {
      await database.transaction((tx) =>
        insertUpload(
          tx,
          { ...upload, account_id: row.account_id, actor_id: owner.authorId },
          store.accountBytes,
        ),
      );
    } catch (error) {
      if (!(error instanceof ApiError) || error.condition !== 'limit_exceeded') throw error;
      return { reason: 'storage_full', detail: error.message };
    }
    await store.putStream({ key: upload.s3_key, contentType: upload.content_type }, bytes);
    const became = { sourceId: refOf(owner, file), id: upload.s3_key, isMade: true };
    await database.transaction((tx) => refs.put(tx, 'file', [became]));
    return upload;
  }
}

/** Time limit for a whole download, in milliseconds. */
const WHOLE_MS = 120_000;
const RETRY_MS = [1_000, 5_000];
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

function refOf({ client_message_id }: Owner, { id }: ArchivedFile): string {
  return `${client_message_id} ${id}`;
}

function tooLarge(most: number): Skipped {
  return { reason: 'file_too_large', detail: `It is larger than ${most} bytes.` };
}

function unavailable(detail: string): Skipped {
  return { reason: 'file_unavailable', detail };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** Yields the items of `bytes`, and passes on its error before it rejects. */
async function* noting(bytes: AsyncIterable<Buffer>, failed: (error: unknown) => void) {
  try {
    yield* bytes;
  } catch (error) {
    failed(error);
    throw error;
  }
}
