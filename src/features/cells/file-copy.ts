import type { ObjectStore } from '../../core/attachments/storage.ts';
import { rowsOf } from '../../core/resources/holdings.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Cell } from './cell.ts';

/** Copies the files of an account, each once; a file never changes. */
export class FileCopy {
  readonly #from: Pick<ObjectStore, 'open' | 'sizeOf'>;
  readonly #to: Pick<ObjectStore, 'putStream' | 'sizeOf'>;
  readonly #copied = new Set<string>();

  constructor(from: Pick<ObjectStore, 'open' | 'sizeOf'>, to: Pick<ObjectStore, 'putStream' | 'sizeOf'>) {
    this.#from = from;
    this.#to = to;
  }

  /**
   * Copies the files that rows of the account name and that are not at the target yet. Returns
   * their number. A file that is missing at the source is missing at the target.
   */
  async copy(source: Cell, accountId: string): Promise<number> {
    let copied = 0;
    for (const { key, content_type: contentType } of await readFiles(source, accountId)) {
      if (this.#copied.has(key)) continue;
      if (await this.#copyOne(key, contentType ?? 'application/octet-stream')) copied++;
      this.#copied.add(key);
    }
    return copied;
  }

  async #copyOne(key: string, contentType: string): Promise<boolean> {
    const size = await this.#from.sizeOf(key);
    if (size === undefined || (await this.#to.sizeOf(key)) === size) return false;
    const file = await this.#from.open(key);
    if (file === undefined) return false;
    await this.#to.putStream({ key, contentType }, file.read({ isTransient: true }));
    return true;
  }
}

/** Returns the files that rows of the account name, possibly with duplicates. */
export function readFiles(cell: Cell, accountId: string): Promise<FileRow[]> {
  return cell.query(readFilesOf(cell.tables), accountId);
}

interface FileRow {
  readonly key: string;
  readonly content_type: string | null;
}

function readFilesOf(tables: Cell['tables']) {
  return statement<[accountId: string], FileRow>('read-files-of-account')(
    tables
      .flatMap(([table, moved]) => {
        if (moved.file === undefined) return [];
        const [key, contentType] = moved.file;
        return `SELECT t.${key} AS key, ${contentType} AS content_type FROM ${table} t ${rowsOf(moved)} AND t.${key} IS NOT NULL`;
      })
      .join(' UNION '),
  );
}
