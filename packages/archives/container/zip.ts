import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { Entry, getFileNameLowLevel, open, type ZipFile } from 'yauzl';
import { type ArchiveContent, type ArchiveLimits, UnreadableArchive } from '../reader.ts';
import { Contained, type ContainedFile, type Container, isClutter, shown } from './container.ts';

/** The place of a file in the zip: the numbers of its entry that reading needs. */
interface ZippedFile extends ContainedFile {
  readonly header: number;
  readonly packed: number;
  readonly deflated: boolean;
  readonly crc: number;
}

/** Opens a zip by its list of files; nothing is unpacked. Rejects with `UnreadableArchive`. */
export async function openZip(path: string, limits: ArchiveLimits): Promise<Container> {
  const zip = await openFile(path, OPTIONS).catch((error: NodeJS.ErrnoException) => {
    throw error.code === undefined ? damaged(error) : error;
  });
  try {
    return new ZipContainer(zip, await listFiles(zip, limits));
  } catch (error) {
    zip.close();
    throw error;
  }
}

/** Names are decoded here: the zips of some programs have UTF-8 and do not say so. */
const OPTIONS = { lazyEntries: true, autoClose: false, decodeStrings: false };
const openFile = promisify<string, typeof OPTIONS, ZipFile>(open);

class ZipContainer implements Container {
  readonly #zip: ZipFile;
  readonly entries: ReadonlyMap<string, ZippedFile>;

  constructor(zip: ZipFile, entries: ReadonlyMap<string, ZippedFile>) {
    this.#zip = zip;
    this.entries = entries;
  }

  async open(path: string): Promise<ArchiveContent | undefined> {
    const file = this.entries.get(path);
    return file && { size: file.size, read: () => this.#read(path, file) };
  }

  async *#read(path: string, { header, packed, deflated, size, crc }: ZippedFile): AsyncGenerator<Buffer> {
    try {
      const entry = Object.assign(new Entry(), {
        relativeOffsetOfLocalHeader: header,
        compressedSize: packed,
      });
      const { fileDataStart } = await this.#zip.readLocalFileHeaderPromise(entry, { minimal: true });
      // The variant with a promise calls another function (yauzl 3.4.0).
      const stream = await new Promise<Readable>((resolve, reject) => {
        this.#zip.openReadStreamLowLevel(fileDataStart, packed, 0, packed, deflated, size, (error, opened) =>
          error ? reject(error) : resolve(opened),
        );
      });
      let found = 0;
      for await (const piece of stream as AsyncIterable<Buffer>) {
        found = crc32(piece, found);
        yield piece;
      }
      if (found !== crc) throw new Error('its bytes are not those of its CRC-32');
    } catch (error) {
      throw damaged(error, path);
    }
  }

  async close(): Promise<void> {
    this.#zip.close();
  }
}

async function listFiles(zip: ZipFile, limits: ArchiveLimits): Promise<ReadonlyMap<string, ZippedFile>> {
  const contained = new Contained<ZippedFile>(limits);
  try {
    for await (const entry of zip.eachEntry()) {
      const name = nameOf(entry);
      if (name.endsWith('/') || isClutter(name)) continue;
      contained.add(name, zipped(entry, name), entry.compressedSize);
    }
  } catch (error) {
    throw damaged(error);
  }
  return contained.files;
}

function zipped(entry: Entry, name: string): ZippedFile {
  if (entry.isEncrypted()) {
    throw new UnreadableArchive('unsupported', `${shown(name)} is encrypted. Unpack and zip it again.`);
  }
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw new UnreadableArchive(
      'unsupported',
      `${shown(name)} is packed in a way that is not supported. Unpack and zip it again.`,
    );
  }
  return {
    size: entry.uncompressedSize,
    header: entry.relativeOffsetOfLocalHeader,
    packed: entry.compressedSize,
    deflated: entry.compressionMethod === DEFLATED,
    crc: entry.crc32,
  };
}

const STORED = 0;
const DEFLATED = 8;

function nameOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  try {
    return UTF8.decode(fileNameRaw);
  } catch {
    return getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true);
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function damaged(error: unknown, path?: string): unknown {
  if (error instanceof UnreadableArchive || !(error instanceof Error)) return error;
  const { message } = error;
  return /^end of central directory record signature not found/i.test(message)
    ? new UnreadableArchive(
        'not_an_archive',
        'The file is no zip archive, or only a part of one. Download or upload it again.',
      )
    : new UnreadableArchive('damaged', `${path ? shown(path) : 'The zip archive'} is damaged: ${message}.`);
}
