import { fold } from '@parley/protocol/folding.ts';
import type { Querier } from './handle.ts';
import { statement } from './statement.ts';

/**
 * A table whose rows are found by words of theirs. Its column `folded` has the words in the form
 * for comparison. A trigger empties it when they change, and any node fills it behind
 * (queue/row-folder.ts), also for what a node of an earlier version wrote.
 */
export interface FoldedTable {
  /** The table, which has account_id and id. */
  readonly name: string;
  /** The columns with the words. */
  readonly columns: readonly string[];
}

/** A row that is not folded yet: its id, and its words. */
export type UnfoldedRow = Readonly<Record<string, string | null>>;

/** Returns the value of `folded` for a row. No word that is searched reaches over a line break. */
export function foldedWords({ columns }: FoldedTable, row: UnfoldedRow): string {
  return columns.map((column) => fold(row[column] ?? '')).join('\n');
}

/** Returns SQL for whether a row has words that are not folded. The index below answers it. */
export function isUnfolded({ columns }: FoldedTable): string {
  return `folded IS NULL AND num_nonnulls(${columns.join(', ')}) > 0`;
}

/** Returns the index of each table's rows that are not folded, by name. */
export function unfoldedIndexes(
  tables: readonly FoldedTable[],
): Readonly<Record<string, { readonly on: string }>> {
  return Object.fromEntries(
    tables.map((table) => [
      `${table.name}_unfolded`,
      { on: `${table.name} (account_id) WHERE ${isUnfolded(table)}` },
    ]),
  );
}

/** How rows that are not folded are found among those of an account. */
export interface UnfoldedRows {
  /** Returns the ids of those that have the words, among the first 1,000. */
  find(db: Querier, accountId: string, words: string): Promise<readonly string[]>;
}

/** Where a search looks: all words of a table, or those of its first column alone. */
export interface Searched {
  readonly table: FoldedTable;
  readonly isFirst?: boolean;
}

/** Returns SQL for the folded words of a row, by the alias of its table. */
export function searchedWords({ isFirst }: Searched, alias: string): string {
  return isFirst === true ? `split_part(${alias}.folded, E'\\n', 1)` : `${alias}.folded`;
}

export function searchedColumns({ table: { columns }, isFirst }: Searched): readonly string[] {
  return isFirst === true ? columns.slice(0, 1) : columns;
}

/** Returns the reader of a table's rows that are not folded. */
export function unfoldedRows(searched: Searched): UnfoldedRows {
  const { table } = searched;
  const { name, columns } = table;
  const read = statement<[accountId: string], UnfoldedRow>(`read-unfolded-${name}`)`
    SELECT id, ${columns.join(', ')} FROM ${name}
    WHERE account_id = $1 AND ${isUnfolded(table)} LIMIT ${MAX_UNFOLDED}`;
  return {
    async find(db, accountId, words) {
      const rows = await db.query(read, accountId);
      const folded = fold(words);
      const looked = { name, columns: searchedColumns(searched) };
      return rows.filter((row) => foldedWords(looked, row).includes(folded)).map(({ id }) => id!);
    },
  };
}

/** Folding so many takes about a millisecond. There are more only while a table is filled. */
const MAX_UNFOLDED = 1_000;
