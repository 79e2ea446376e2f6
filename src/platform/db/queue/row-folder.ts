import { BackgroundWork } from '../../background.ts';
import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../connection/database.ts';
import { type FoldedTable, foldedWords, isUnfolded, type UnfoldedRow } from '../connection/folded-table.ts';
import { statement } from '../connection/statement.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from './due-watch.ts';

export interface RowFolderOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly tables: readonly FoldedTable[];
  readonly log: Logger;
}

/**
 * Fills the column `folded` of rows whose words are new or have changed, on every node, in parts
 * with rests. Lists find rows that are not folded yet by themselves (connection/keyset.ts).
 */
export class RowFolder {
  readonly #database: Database;
  readonly #loop: Loop;

  constructor({ database, watch, tables, log }: RowFolderOptions) {
    this.#database = database;
    const parts = tables.map((table) => partOf(table));
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: async (signal) => {
        for (const part of parts) await this.#fill(part, signal);
      },
      onError: (error) => log.warn({ err: error }, 'folding names failed'),
    });
    watch.add({
      name: 'unfolded_names',
      condition: tables.map(hasUnfolded).join(' OR '),
      onDue: () => this.#loop.wake(),
    });
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  /** Resolves when no row is left that another node does not hold. */
  async #fill(part: Part, signal: AbortSignal): Promise<void> {
    for (let isFull = true; isFull && !signal.aborted; ) {
      const work = new BackgroundWork(this.#database.load);
      isFull = (await part(this.#database)) === PART;
      if (isFull) await work.rest(signal);
    }
  }
}

/** Folds some rows and returns their number. */
type Part = (database: Database) => Promise<number>;

function partOf(table: FoldedTable): Part {
  const { name, columns } = table;
  const lock = statement<[], UnfoldedRow>(`lock-unfolded-${name}`)`
    SELECT id, ${columns.join(', ')} FROM ${name} WHERE ${isUnfolded(table)}
    ORDER BY account_id LIMIT ${PART} FOR NO KEY UPDATE SKIP LOCKED`;
  const write = statement<[ids: readonly string[], folded: readonly string[]]>(`write-folded-${name}`)`
    UPDATE ${name} t SET folded = n.folded FROM unnest($1::text[], $2::text[]) AS n(id, folded)
    WHERE t.id = n.id`;
  return (database) =>
    database.transaction(async (tx) => {
      const rows = await tx.query(lock);
      if (rows.length === 0) return 0;
      await tx.query(
        write,
        rows.map(({ id }) => id!),
        rows.map((row) => foldedWords(table, row)),
      );
      return rows.length;
    });
}

/** Rows of a part: some milliseconds. */
const PART = 200;

// The order makes Postgres read the index of these rows, also where it believes that all are such.
function hasUnfolded(table: FoldedTable): string {
  return `(SELECT account_id FROM ${table.name} WHERE ${isUnfolded(table)} ORDER BY account_id LIMIT 1) IS NOT NULL`;
}
