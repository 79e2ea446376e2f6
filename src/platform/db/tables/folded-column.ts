import type { ColumnType } from 'kysely';

/** The words of a row in the form for comparison; null while they are not folded. */
export type FoldedColumn = ColumnType<string | null, undefined, never>;
