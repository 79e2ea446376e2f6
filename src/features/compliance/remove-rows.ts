import { allHoldings } from '../../core/features/all-holdings.ts';
import { type HeldTable, type Holdings, rowsOf, type Stage } from '../../core/resources/holdings.ts';
import { BackgroundWork } from '../../platform/background.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/** Removes the rows that go with these messages or persons. Returns the keys of their files. */
export async function removeRowsOf(
  tx: Tx,
  holdings: Holdings,
  subject: 'message' | 'person',
  ids: readonly string[],
): Promise<string[]> {
  const keys: string[] = [];
  for (const [table, { file, ...held }] of tablesOf(holdings)) {
    for (const [column, going] of Object.entries(held)) {
      if (going !== 'removed' || (column === 'message_id') !== (subject === 'message')) continue;
      const removed = await tx.query(removalBy(table, column, file), ids);
      keys.push(...removed.flatMap(({ key }) => key ?? []));
    }
  }
  return keys;
}

/**
 * Removes the rows of an account that go at this stage, last table first, `REMOVED_AT_ONCE` rows in
 * a transaction, until none is left.
 */
export async function removeRowsOfAccount(
  database: Database,
  stage: Stage,
  accountId: string,
  signal: AbortSignal,
): Promise<void> {
  const work = new BackgroundWork(database.load);
  for (const [table, { account, moved = {} }] of allHoldings(database).flatMap(tablesOf).reverse()) {
    const [at, rows = rowsOf(moved)] = [account ?? []].flat();
    if (at !== stage) continue;
    for (let isMore = true; isMore && !signal.aborted; ) {
      const removed = await database.query(removalOfAccount(table, rows), accountId, REMOVED_AT_ONCE);
      isMore = removed.length === REMOVED_AT_ONCE;
      await work.rest(signal);
    }
  }
}

const REMOVED_AT_ONCE = 2_000;

function tablesOf({ tables }: Holdings): [table: string, held: HeldTable][] {
  return Object.entries(tables as Readonly<Record<string, HeldTable>>);
}

function removalBy(table: string, column: string, file = 'NULL') {
  return statement<[ids: readonly string[]], { key: string | null }>(`remove-by-${column}-from-${table}`)`
    DELETE FROM ${table} WHERE ${column} = ANY($1) RETURNING ${file} AS key`;
}

function removalOfAccount(table: string, rows: string) {
  return statement<[accountId: string, limit: number], object>(`remove-account-from-${table}`)`
    DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT t.ctid FROM ${table} t ${rows} LIMIT $2)) RETURNING 1`;
}
