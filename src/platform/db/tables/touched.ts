import { isExactNumber } from '@parley/protocol/json/exact-json.ts';
import type { ColumnType, Generated } from 'kysely';
import { sql } from 'kysely';

/** Set by Postgres if absent. */
export type Time = ColumnType<string, string | undefined, string>;

export interface Times {
  created_at: Time;
  updated_at: Time;
}

/** Columns of rows whose changes are published to clients. */
export interface Streamed {
  updated_at: Time;
  changed_in: Generated<string>;
}

/**
 * Returns the columns that every change of a row streamed to clients must set: a later time, and
 * the transaction, by which resume finds the change (edge/gateway/changes/changes.ts).
 */
export function touched() {
  return {
    updated_at: sql<string>`later_than(updated_at)`,
    changed_in: sql<string>`pg_current_xact_id()`,
  };
}

/** Returns SQL that sets the same columns. `at` is an expression for the new time. */
export function setTouched(at = 'later_than(updated_at)'): string {
  return `updated_at = ${at}, changed_in = pg_current_xact_id()`;
}

/** SQL for SET: the row is part of catch-up, though the resource itself shows no change. */
export const SET_CHANGED_IN = 'changed_in = pg_current_xact_id()';

/**
 * Returns the bytes of a JSON value as jsonb prints it, without blanks. Returns Infinity for a
 * number beyond the doubles, such as 1e400, or with more digits behind the point than Postgres
 * stores. jsonb prints no exponents: 1e308 has 309 digits, and an input of 64 KiB took 3 MB each
 * time it was read.
 */
export function jsonbBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value ?? null)) + growthOf(value);
}

/** Digits behind the point of a `numeric`. */
const MAX_SCALE = 16_383;

function digitsAdded(number: string): number {
  if (!Number.isFinite(Number(number))) return Number.POSITIVE_INFINITY;
  const [mantissa = '', exponent = '0'] = number.split(/e/i);
  const scale = (mantissa.split('.')[1]?.length ?? 0) - Number(exponent);
  return scale > MAX_SCALE ? Number.POSITIVE_INFINITY : Math.abs(Number(exponent));
}

function growthOf(value: unknown): number {
  if (typeof value === 'number') return digitsAdded(String(value));
  if (isExactNumber(value)) return digitsAdded(value.rawJSON);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + growthOf(item), 0);
}
