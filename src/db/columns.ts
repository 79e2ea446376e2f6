import type { ColumnType, Generated } from 'kysely';

/** Written by Postgres unless given. */
export type Time = ColumnType<string, string | undefined, string>;

export interface Times {
  created_at: Time;
  updated_at: Time;
}

/** Rows that clients are streamed. */
export interface Streamed {
  changed_in: Generated<string>;
}
