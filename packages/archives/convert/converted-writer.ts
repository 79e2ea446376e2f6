import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { CONVERTED } from '../parley/converted-reader.ts';
import { type ArchiveContent, type ArchiveReader, UnreadableArchive } from '../reader.ts';
import {
  type ArchiveRecord,
  type Counted,
  type Counts,
  countsOf,
  type MessageRecord,
  type NoteRecord,
  noCounts,
  type SkippedRecord,
} from '../record.ts';

export type Remark = SkippedRecord | NoteRecord;

/**
 * Writes all of an archive to a new file at `path`, and calls `onRemark` with each thing that is
 * left out or changed. Resolves with the counts of the written records. Rejects with an error of
 * the reader or the file.
 */
export function writeConverted(
  reader: ArchiveReader,
  path: string,
  onRemark: (remark: Remark) => void = () => undefined,
): Promise<Counts> {
  return new ConvertedWriter(reader, onRemark).write(path);
}

class ConvertedWriter {
  readonly #reader: ArchiveReader;
  readonly #onRemark: (remark: Remark) => void;
  readonly #zip = new ZipFile();
  /** The files that messages name, or why they are left out, by their names in the archive. */
  readonly #files = new Map<string, { readonly entry: string } | { readonly problem: string }>();
  readonly #counts = noCounts();

  constructor(reader: ArchiveReader, onRemark: (remark: Remark) => void) {
    this.#reader = reader;
    this.#onRemark = onRemark;
    this.#zip.on('error', this.#fail);
  }

  async write(path: string): Promise<Counts> {
    const { object, format, manifest, records } = CONVERTED;
    const { source } = this.#reader;
    this.#zip.addBuffer(Buffer.from(`${JSON.stringify({ object, format, source })}\n`), manifest, FIXED);
    this.#add(records, () => this.#lines(), true);
    // The texts of private messages are for their owner alone.
    await pipeline(
      this.#zip.outputStream,
      createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }),
    );
    return this.#counts;
  }

  #add(path: string, read: () => AsyncIterable<Buffer>, compress: boolean): void {
    this.#zip.addReadStreamLazy(path, { ...FIXED, compress }, (take) =>
      take(null, Readable.from(read()).on('error', this.#fail)),
    );
  }

  readonly #fail = (error: Error) => void (this.#zip.outputStream as Readable).destroy(error);

  /** Returns the records as lines, many at a time; then the files follow. */
  async *#lines(): AsyncGenerator<Buffer> {
    let lines = '';
    for await (const record of this.#reader.records()) {
      const written = record.type === 'message' ? await this.#withFiles(record) : [record];
      for (const one of written) {
        for (const [of, count] of Object.entries(countsOf(one))) this.#counts[of as Counted] += count;
        if (one.type === 'skipped' || one.type === 'note') this.#onRemark(one);
        lines += `${JSON.stringify(one)}\n`;
      }
      if (lines.length < PIECE_CHARACTERS) continue;
      yield Buffer.from(lines);
      lines = '';
    }
    yield Buffer.from(lines);
    for (const [name, file] of this.#files) {
      if ('entry' in file) this.#add(file.entry, () => this.#read(name), false);
    }
    this.#zip.end();
  }

  async *#read(name: string): AsyncGenerator<Buffer> {
    yield* (await this.#reader.openFile(name))!.read();
  }

  /** Returns the message with its whole files, and a record of each other file. */
  async #withFiles(message: MessageRecord): Promise<ArchiveRecord[]> {
    const skipped: ArchiveRecord[] = [];
    const files: MessageRecord['files'][number][] = [];
    for (const file of message.files) {
      if ('url' in file.source) files.push(file);
      else {
        const found = await this.#find(file.source.entry);
        if ('entry' in found) files.push({ ...file, source: found });
        else {
          const detail = `The file "${file.name}" (${file.id}): ${found.problem}`;
          const { where } = message;
          skipped.push({ type: 'skipped', of: 'files', count: 1, reason: 'file_damaged', detail, where });
        }
      }
    }
    return [{ ...message, files }, ...skipped];
  }

  async #find(name: string): Promise<{ readonly entry: string } | { readonly problem: string }> {
    let found = this.#files.get(name);
    if (found === undefined) {
      const problem = await problemOf(await this.#reader.openFile(name));
      found = problem === undefined ? { entry: `files/${this.#files.size + 1}` } : { problem };
      this.#files.set(name, found);
    }
    return found;
  }
}

/** In the local time of every machine, which is the time of a zip. */
const FIXED = { mtime: new Date(2000, 0, 1), forceDosTimestamp: true };
const PIECE_CHARACTERS = 2 ** 16;

/** Reads a file through. Resolves with a sentence if its bytes are not whole. */
async function problemOf(content: ArchiveContent | undefined): Promise<string | undefined> {
  if (content === undefined) return 'The archive does not contain it.';
  try {
    for await (const _ of content.read());
    return undefined;
  } catch (error) {
    if (!(error instanceof UnreadableArchive)) throw error;
    return error.message;
  }
}
