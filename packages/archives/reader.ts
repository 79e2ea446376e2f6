import type { ArchiveRecord, ArchiveSource, Counts } from './record.ts';

/** An opened archive. Its file must not change meanwhile. */
export interface ArchiveReader {
  /** The source of the refs. A converted archive of `parley` has its original source. */
  readonly source: ArchiveSource;
  /**
   * Returns what the archive contains (`record.ts`), with bounded memory. It may be called again,
   * one walk after the other. Rejects with `UnreadableArchive`, and with the error of a broken
   * disk; a broken part of the archive is a `skipped` record.
   */
  records(): AsyncIterable<ArchiveRecord>;
  /** Returns the present walk's counts; complete when it has ended. */
  found(): Counts;
  /**
   * Returns how much of the archive the present walk has read, in bytes; `total` is known before.
   */
  progress(): { readonly done: number; readonly total: number };
  /**
   * Opens a file of a message (`ArchivedFile.source.entry`). Returns undefined if the archive has
   * no such entry. Reading rejects if the bytes are not `size`.
   */
  openFile(entry: string): Promise<ArchiveContent | undefined>;
  /** Releases the file and everything written to the scratch directory. */
  close(): Promise<void>;
}

export interface ArchiveContent {
  /** In bytes. */
  readonly size: number;
  read(): AsyncIterable<Buffer>;
}

export interface OpenOptions {
  /** An existing directory for what must be kept on disk while the archive is open. */
  readonly scratch: string;
  readonly limits?: Partial<ArchiveLimits>;
  /** Ends opening and walking with its reason. */
  readonly signal?: AbortSignal;
}

/** Beyond these an archive is refused as a whole, since an honest one never comes near them. */
export interface ArchiveLimits {
  readonly entries: number;
  /** Of all entries together, in bytes. */
  readonly unpackedBytes: number;
  /** Unpacked bytes for each byte of the archive, where an entry has more than 1 MiB. */
  readonly ratio: number;
  /** Of one JSON document that is read as a whole, in bytes. */
  readonly documentBytes: number;
  /** Levels of nesting in a JSON document. */
  readonly depth: number;
}

export const ARCHIVE_LIMITS: ArchiveLimits = {
  entries: 2_000_000,
  unpackedBytes: 64 * 2 ** 30,
  ratio: 200,
  documentBytes: 64 * 2 ** 20,
  depth: 100,
};

/**
 * The archive as a whole cannot be imported. The message is a sentence for the person who has it.
 */
export class UnreadableArchive extends Error {
  override readonly name = 'UnreadableArchive';
  readonly reason: 'not_an_archive' | 'wrong_format' | 'unsupported' | 'unsafe' | 'damaged';

  constructor(reason: UnreadableArchive['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
