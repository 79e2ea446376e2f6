import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { FILE_URL_S, UPLOAD_LIMITS } from '@parley/protocol/resources/upload.ts';
import { syncDirectory } from '../../platform/db/sync-directory.ts';
import type { StoredFile } from '../resources/attachment.ts';
import { downloadName, downloadType } from './download-name.ts';
import type { FileUrls } from './file-urls.ts';
import { downloadWindow, type FileBytes, firstBytes, type NewObject, type ObjectStore } from './storage.ts';

export interface FileStoreOptions {
  /** Created when the first file arrives. Nodes that share a database must share it. */
  readonly directory: string;
  readonly urls: FileUrls;
  /** See ObjectStore.accountBytes. */
  readonly accountBytes?: number | null;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * Files on this server's own disk, for deployments without object storage: `<directory>/<key>`. A
 * file is complete and synced before it has that name, and no upload writes it again.
 */
export class FileStore implements ObjectStore {
  readonly maxBytes = UPLOAD_LIMITS.localBytes;
  readonly accountBytes: number | null;
  readonly urls: FileUrls;
  readonly #directory: string;
  /** The directory of files that are still being received. */
  readonly #incoming: string;
  readonly #now: () => number;
  #fullAtMs = Number.NEGATIVE_INFINITY;

  constructor({ directory, urls, accountBytes = null, now = Date.now }: FileStoreOptions) {
    this.accountBytes = accountBytes;
    this.#directory = directory;
    this.#incoming = join(directory, 'incoming');
    this.urls = urls;
    this.#now = now;
  }

  async presignUpload({ key, contentType, sizeBytes }: NewObject) {
    const expiresAtMs = this.#now() + FILE_URL_S * 1000;
    const fields = { content_type: contentType, size: String(sizeBytes) };
    const url = this.urls.sign('PUT', { key, expiresAtMs, fields });
    return { url, headers: { 'Content-Type': contentType }, expiresAtMs };
  }

  async presignDownload({ key, filename, contentType }: StoredFile): Promise<string> {
    const { endsAtMs } = downloadWindow(this.#now());
    const fields = { content_type: downloadType(contentType), filename: downloadName(filename ?? key) };
    return this.urls.sign('GET', { key, expiresAtMs: endsAtMs, fields });
  }

  async put({ key }: Pick<NewObject, 'key'>, bytes: Buffer): Promise<void> {
    try {
      await this.write(key, [bytes], bytes.length);
    } catch (error) {
      if (!(error instanceof ApiError) || error.condition !== 'resource_conflict') throw error;
    }
  }

  putStream(
    { key }: Pick<NewObject, 'key'>,
    bytes: AsyncIterable<Buffer>,
    options: { readonly replaces?: boolean } = {},
  ): Promise<number> {
    return this.write(key, bytes, undefined, options);
  }

  async read(key: string, most: number): Promise<Buffer | undefined> {
    const file = await this.open(key);
    if (file === undefined) return undefined;
    return firstBytes(file.read(), most);
  }

  async sizeOf(key: string): Promise<number | undefined> {
    try {
      return (await stat(this.#pathOf(key))).size;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * Returns the size when the bytes are on the disk. Throws ApiError `resource_conflict` if the key
   * already has its bytes and these do not replace them, `validation_failed` if these are more or
   * fewer than `sizeBytes`, where that is known beforehand, or the error of `bytes`. An incomplete
   * file leaves nothing behind.
   */
  async write(
    key: string,
    bytes: Pieces,
    sizeBytes?: number,
    { replaces = false }: { readonly replaces?: boolean } = {},
  ): Promise<number> {
    const path = this.#pathOf(key);
    if (!replaces && (await this.sizeOf(key)) !== undefined) throw alreadyThere();
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 }).catch((error) => {
      throw this.#recordFailure(error);
    });
    const incoming = join(this.#incoming, `${key}-${randomBytes(6).toString('hex')}`);
    try {
      const file = await open(incoming, 'wx', 0o600);
      let written: number;
      try {
        written = await writeAll(file, bytes, sizeBytes);
        await file.sync();
      } finally {
        await file.close();
      }
      // The first of two concurrent uploads of a key wins: unlike rename, link never replaces a
      // file.
      await (replaces ? rename(incoming, path) : link(incoming, path));
      await syncDirectory(this.#directory);
      return written;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') throw alreadyThere();
      throw this.#recordFailure(error);
    } finally {
      await rm(incoming, { force: true });
    }
  }

  /** Returns undefined if there is no such file. */
  async open(key: string): Promise<FileBytes | undefined> {
    const size = await this.sizeOf(key);
    if (size === undefined) return undefined;
    const path = this.#pathOf(key);
    return {
      size,
      read: ({ isTransient = false } = {}) =>
        isTransient ? transientPieces(path) : createReadStream(path, { highWaterMark: PIECE_BYTES }),
    };
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) await rm(this.#pathOf(key), { force: true });
  }

  /** Removes files that a killed node was receiving. */
  async tidy(): Promise<void> {
    for (const name of await namesIn(this.#incoming)) {
      const path = join(this.#incoming, name);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
      // The file system's clock gets a margin: an active upload is minutes old at most.
      if (Date.now() - mtimeMs > STALE_MS) await rm(path, { force: true });
    }
  }

  close(): void {}

  /** Whether a file was refused for lack of space within the last half minute. */
  get full(): boolean {
    return performance.now() - this.#fullAtMs < FULL_MS;
  }

  #recordFailure(error: unknown): unknown {
    if (!NO_ROOM.has(codeOf(error))) return error;
    this.#fullAtMs = performance.now();
    const message = 'There is no room left for uploaded files. Try again later.';
    return new ApiError('service_unavailable', message, { retryAfterS: 30, cause: error });
  }

  #pathOf(key: string): string {
    // Only keys of newId('upload') are accepted, as a second check beside the signature.
    if (!KEY.test(key)) throw new TypeError('not a key of an upload');
    return join(this.#directory, key);
  }
}

const KEY = /^upl_[0-9A-Za-z]{24}$/;
/** Errors of the file system when it, or the quota of our user, is exhausted. */
const NO_ROOM = new Set<unknown>(['ENOSPC', 'EDQUOT']);
const FULL_MS = 30_000;
const PIECE_BYTES = 64 * 1024;
const STALE_MS = 24 * 60 * 60 * 1000;

type Pieces = AsyncIterable<Buffer> | readonly Buffer[];

/** Reads every piece into the same memory. */
async function* transientPieces(path: string): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    const memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(memory, 0, PIECE_BYTES);
      if (bytesRead === 0) return;
      yield memory.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, bytes: Pieces, sizeBytes: number | undefined): Promise<number> {
  let written = 0;
  for await (const piece of bytes) {
    written += piece.length;
    if (sizeBytes !== undefined && written > sizeBytes) throw wrongSize(sizeBytes);
    await file.writeFile(piece);
  }
  if (sizeBytes !== undefined && written !== sizeBytes) throw wrongSize(sizeBytes);
  return written;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function alreadyThere(): ApiError {
  return new ApiError(
    'resource_conflict',
    'This file was uploaded already. Create another upload for a new file.',
  );
}

function wrongSize(sizeBytes: number): ApiError {
  return new ApiError(
    'validation_failed',
    `The upload was created for a file of ${sizeBytes} bytes. Send exactly these.`,
  );
}
