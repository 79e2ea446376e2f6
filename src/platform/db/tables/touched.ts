import { sql } from 'kysely';

/**
 * The columns that every change of a row that clients are streamed must set: its time, later than
 * the one before, and the transaction, by which resume finds what changed
 * (edge/gateway/catch-up/changes.ts). Without them a client that was away never gets the change.
 */
export function touched() {
  return {
    updated_at: sql<string>`later_than(updated_at)`,
    changed_in: sql<string>`pg_current_xact_id()`,
  };
}

/** SQL: the same for the SET of a statement. `at` is the new time, an expression. */
export function setTouched(at = 'later_than(updated_at)'): string {
  return `updated_at = ${at}, changed_in = pg_current_xact_id()`;
}

/** SQL for SET: the row is part of catch-up, though the resource itself shows no change. */
export const SET_CHANGED_IN = 'changed_in = pg_current_xact_id()';
