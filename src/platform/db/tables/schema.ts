import type { Generated, JSONColumnType } from 'kysely';
import type { Time } from './touched.ts';

/**
 * The tables, as migrations/ make them. Timestamps are read as ISO 8601 in UTC with microseconds,
 * bigints as numbers, xid8 as decimal text (platform/db/connection/connection-options.ts).
 *
 * This folder's own tables stand here. Every other room declares its tables in a file of its own
 * and adds them by `declare module`, so that those of a feature go with its folder.
 */
export interface Schema {
  settings: {
    name: string;
    value: string;
    created_at: Time;
  };

  outbox: {
    id: Generated<number>;
    topic: string;
    payload: JSONColumnType<object>;
    attempts: Generated<number>;
    created_at: Time;
    due_at: Time;
  };

  jobs: {
    id: Generated<string>;
    key: string | null;
    topic: string;
    payload: JSONColumnType<object>;
    /** When it is due, or when the lease of the node that runs it ends. */
    due_at: string;
    attempts: Generated<number>;
    fence: Generated<number>;
    created_at: Time;
  };
}
