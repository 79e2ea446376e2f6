import { FILE_URL_S } from '../protocol/resources/upload.ts';

/**
 * Where the bytes of attachments lie. Implementations: FileStore, S3Store; one contract suite runs on both.
 * Where it is away, methods reject with ApiError `service_unavailable`.
 */
export interface ObjectStore {
  /** The largest object it takes. */
  readonly maxBytes: number;

  /**
   * A URL that takes these bytes, sent with these headers, for fifteen minutes. An object is written once: the
   * URL refuses a second one, whatever became of the first answer, so that what was attached stays what it was.
   */
  presignUpload(upload: NewObject): Promise<PresignedUpload>;

  /**
   * A URL that answers the object's bytes for ten to fifteen minutes: those of one stretch of time are the same,
   * so that readers' caches are of use. Whether the object is there is not looked at.
   */
  presignDownload(file: StoredFile): Promise<string>;

  /**
   * Writes an object whole, for what this server makes itself. One that is there stays as it is, and that is no
   * error: whoever writes a second time writes the same.
   */
  put(object: Pick<NewObject, 'key' | 'contentType'>, bytes: Buffer): Promise<void>;

  /** The object's first bytes, `most` at most; undefined where nothing, or nothing whole, is under the key. */
  read(key: string, most: number): Promise<Buffer | undefined>;

  /** Bytes of the object; undefined where nothing, or nothing whole, is under the key. */
  sizeOf(key: string): Promise<number | undefined>;

  /** Removes objects; those that are not there do not matter. */
  remove(keys: readonly string[]): Promise<void>;

  /** Removes what uploads that broke off have left behind. */
  tidy(): Promise<void>;

  /** Lets go of connections. */
  close(): void;
}

/** As much of it as readers of messages need. */
export type Downloads = Pick<ObjectStore, 'presignDownload'>;

export interface NewObject {
  /** Made by newId('upload'): safe in paths and URLs. */
  readonly key: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

export interface PresignedUpload {
  readonly url: string;
  /** To be sent exactly so. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

export interface StoredFile {
  readonly key: string;
  /** What the browser is told to call it; null: the key. */
  readonly filename: string | null;
  readonly contentType: string | null;
}

/** The stretch of time whose download URLs are all the same, and when they end: both in milliseconds since 1970. */
export function downloadWindow(nowMs: number): { readonly beginsAtMs: number; readonly endsAtMs: number } {
  const beginsAtMs = nowMs - (nowMs % WINDOW_MS);
  return { beginsAtMs, endsAtMs: beginsAtMs + FILE_URL_S * 1000 };
}

const WINDOW_MS = 5 * 60 * 1000;

/** Reads no further than `most` bytes, and lets go of the rest. */
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
