import type { Downloads, StoredFile } from '../../../core/resources/attachment.ts';
import type { Exported, ExportFiles } from '../../../core/resources/holdings.ts';
import type { BackgroundWork } from '../../../platform/background.ts';
import type { ArchivedFile, ArchiveWriter } from './archive.ts';

/** A file that the manifest lists; `lines` is set only for JSON Lines. */
export type ListedFile = ArchivedFile & { readonly lines?: number };

/** The archive's directory for files of messages and runs, each under its key. */
const FILES = 'files/';

/** Collects an archive's files for the manifest, and the stored files that it must contain. */
export class Contents implements ExportFiles {
  readonly files: ListedFile[] = [];
  /** By noun, in the plural. */
  readonly counts: Record<string, number> = {};
  /** The keys of the stored files that the rows written so far refer to; 28 bytes each. */
  readonly keys = new Set<string>();
  /** Acts as the file store when messages are presented. */
  readonly downloads: Downloads = { presignDownload: async (file) => this.refer(file) };
  readonly #archive: ArchiveWriter;
  readonly #work: BackgroundWork;
  readonly #report: (done: number, total: number) => void;
  /** The number of added messages and files. */
  done = 0;
  #expected = 0;

  constructor(archive: ArchiveWriter, work: BackgroundWork, report: (done: number, total: number) => void) {
    this.#archive = archive;
    this.#work = work;
    this.#report = report;
  }

  /** Announces `more` messages. */
  expect(more: number): void {
    this.#expected += more;
    this.step(0);
  }

  /** Adds `<noun>.json` or `<noun>.jsonl`. */
  async add(noun: string, content: ReturnType<Exported<never>>): Promise<void> {
    if (content instanceof Promise) await this.addDocument(`${noun}.json`, await content);
    else await this.addLines(noun, content);
  }

  async addDocument(path: string, document: object): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(document, null, 2)}\n`);
    this.files.push(await this.#archive.add(path, once(bytes), { compress: true }));
  }

  /** Adds `<noun>.jsonl` and counts its lines under the noun. */
  async addLines(noun: string, read: AsyncIterable<readonly object[]>): Promise<void> {
    const pages = this.#work.paced(read);
    let lines = 0;
    this.counts[noun] = 0;
    async function* written() {
      for await (const items of pages) {
        lines += items.length;
        if (items.length > 0) yield Buffer.from(items.map((item) => `${JSON.stringify(item)}\n`).join(''));
      }
    }
    const file = await this.#archive.add(`${noun}.jsonl`, written(), { compress: true });
    this.files.push({ ...file, lines });
    this.counts[noun] = lines;
  }

  /** Adds the referenced files, and `files.jsonl` with hashes; lost files are listed as missing. */
  async addFiles(
    open: (key: string) => Promise<{ read(): AsyncIterable<Buffer> } | undefined>,
  ): Promise<void> {
    const listed: object[] = [];
    let missing = 0;
    for (const key of this.keys) {
      const file = await open(key);
      if (file === undefined) missing += 1;
      listed.push(
        file === undefined ? { key, missing: true } : { key, ...(await this.#addFile(key, file.read())) },
      );
      this.step(1);
    }
    await this.addLines('files', once(listed));
    this.counts.missing_files = missing;
  }

  #addFile(key: string, bytes: AsyncIterable<Buffer>): Promise<ArchivedFile> {
    return this.#archive.add(`${FILES}${key}`, this.#work.paced(bytes), { compress: false });
  }

  /** Adds the file to the archive. Returns its path there. */
  refer({ key }: Pick<StoredFile, 'key'>): string {
    this.keys.add(key);
    return `${FILES}${key}`;
  }

  step(done: number): void {
    this.done += done;
    this.#report(this.done, Math.max(this.#expected + this.keys.size, this.done));
  }
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}
