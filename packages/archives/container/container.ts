import { extname } from 'node:path/posix';
import { type ArchiveContent, type ArchiveLimits, UnreadableArchive } from '../reader.ts';

/** The files in an archive, whatever kind of archive that is. */
export interface Container {
  /** By path, in the order of the archive. Directories are left out. */
  readonly entries: ReadonlyMap<string, ContainedFile>;
  /** Rejects with `UnreadableArchive` while it is read if the bytes are damaged or too many. */
  open(path: string): Promise<ArchiveContent | undefined>;
  close(): Promise<void>;
}

export interface ContainedFile {
  /** In bytes, unpacked. */
  readonly size: number;
}

/** Collects the files of a container and refuses what an honest archive never has. */
export class Contained<File extends ContainedFile> {
  readonly files = new Map<string, File>();
  readonly #limits: ArchiveLimits;
  #bytes = 0;

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
  }

  /** `packed` is the size in the archive; throws `UnreadableArchive`. */
  add(path: string, file: File, packed: number): void {
    requireSafe(path);
    if (this.files.has(path)) {
      throw new UnreadableArchive('damaged', `The archive has two files with the name ${shown(path)}.`);
    }
    this.#bytes += file.size;
    const { entries, unpackedBytes, ratio } = this.#limits;
    if (this.files.size >= entries) {
      throw new UnreadableArchive('unsafe', `The archive has more than ${entries} files.`);
    }
    if (this.#bytes > unpackedBytes) {
      throw new UnreadableArchive('unsafe', `The archive unpacks to more than ${unpackedBytes} bytes.`);
    }
    if (file.size > RATIO_FROM && file.size > packed * ratio) {
      throw new UnreadableArchive(
        'unsafe',
        `${shown(path)} unpacks to more than ${ratio} times its size in the archive.`,
      );
    }
    this.files.set(path, file);
  }
}

/** Small files of equal bytes compress well and do no harm. */
const RATIO_FROM = 2 ** 20;

/** Refuses paths that look like an attack, though none becomes a path of this machine. */
function requireSafe(path: string): void {
  if (!isSafe(path)) {
    throw new UnreadableArchive('unsafe', `The archive has a file with the name ${shown(path)}.`);
  }
}

export function isSafe(path: string): boolean {
  return path.length > 0 && path.length <= 1024 && !UNSAFE.test(path) && !path.split('/').includes('..');
}

const UNSAFE = /^\/|^[a-z]:|\\|[\p{Cc}\p{Zl}\p{Zp}]/iu;

/** Returns the path for a message, on one line and not too long. */
export function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

/** Returns whether the computer that made the archive added the file. */
export function isClutter(path: string): boolean {
  return path.startsWith('__MACOSX/') || /(^|\/)(\.DS_Store|Thumbs\.db|\._[^/]*)$/.test(path);
}

/** Returns the content type that the name of a file stands for, or null for most. */
export function typeOf(name: string): string | null {
  return TYPES[extname(name).slice(1).toLowerCase()] ?? null;
}

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  zip: 'application/zip',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
};
