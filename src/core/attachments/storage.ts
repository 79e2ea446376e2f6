import { FILE_URL_S } from '@parley/protocol/resources/upload.ts';
import type { Downloads } from '../resources/attachment.ts';

/**
 * The store of attachments' bytes, implemented by FileStore and S3Store; one contract suite runs on
 * both. If the store fails, methods reject with ApiError `external_service_error`,
 * `connection_error` or `timeout`, or `service_unavailable` if this server cannot store or sign.
 */
export interface ObjectStore extends Downloads {
  /** The size of the largest accepted object. */
  readonly maxBytes: number;
  /** The limit for all files of one account together, in bytes, or null for no limit. */
  readonly accountBytes: number | null;

  /**
   * Returns a URL that accepts these bytes, sent with these headers, for fifteen minutes. It
   * refuses a second upload, whatever happened to the answer of the first, so that an attached file
   * never changes.
   */
  presignUpload(upload: NewObject): Promise<PresignedUpload>;

  /**
   * Writes a whole object made by this server. An existing object stays as it is without an error,
   * because a repeated write has the same bytes.
   */
  put(object: Pick<NewObject, 'key' | 'contentType'>, bytes: Buffer): Promise<void>;

  /**
   * Writes a whole object of a size that is known at its end; one piece at a time is in memory, and
   * `bytes` may reuse its memory for the next. Rejects with the error of `bytes`, or if the key
   * already has its bytes, unless it `replaces` them, all at once. An incomplete object leaves
   * nothing behind. Returns the size in bytes.
   */
  putStream(
    object: Pick<NewObject, 'key' | 'contentType'>,
    bytes: AsyncIterable<Buffer>,
    options?: { readonly replaces?: boolean },
  ): Promise<number>;

  /** Opens the object for reading, or returns undefined if there is no complete object. */
  open(key: string): Promise<FileBytes | undefined>;

  /** Returns at most the first `most` bytes, or undefined if there is no complete object. */
  read(key: string, most: number): Promise<Buffer | undefined>;

  /** Returns the object's size in bytes, or undefined if there is no complete object. */
  sizeOf(key: string): Promise<number | undefined>;

  /** Removes objects; keys without an object are ignored. */
  remove(keys: readonly string[]): Promise<void>;

  /** Removes the remains of interrupted uploads. */
  tidy(): Promise<void>;

  close(): void;
}

/** The bytes of a file, which can be read once. */
export interface FileBytes {
  readonly size: number;
  /**
   * Yields pieces. `isTransient`: a piece may be overwritten once the next is requested. Memory for
   * each piece is garbage that V8 lets grow to tens of megabytes.
   */
  read(options?: { readonly isTransient?: boolean }): AsyncIterable<Buffer>;
}

export interface NewObject {
  /** Made by newId('upload'): safe in paths and URLs. */
  readonly key: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

export interface PresignedUpload {
  readonly url: string;
  /** Must be sent unchanged. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/**
 * Returns the window of time in which all download URLs are equal, and its end, in ms since 1970.
 */
export function downloadWindow(nowMs: number): { readonly beginsAtMs: number; readonly endsAtMs: number } {
  const beginsAtMs = nowMs - (nowMs % WINDOW_MS);
  return { beginsAtMs, endsAtMs: beginsAtMs + FILE_URL_S * 1000 };
}

const WINDOW_MS = 5 * 60 * 1000;

/** Reads at most `most` bytes and releases the rest. */
export async function firstBytes(bytes: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    size += piece.length;
    if (size >= most) break;
  }
  return Buffer.concat(pieces).subarray(0, most);
}
