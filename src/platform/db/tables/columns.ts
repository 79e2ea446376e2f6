import type { ColumnType, Generated } from 'kysely';

/** Set by Postgres if absent. */
export type Time = ColumnType<string, string | undefined, string>;

export interface Times {
  created_at: Time;
  updated_at: Time;
}

/** Columns of rows whose changes are published to clients. */
export interface Streamed {
  changed_in: Generated<string>;
}
