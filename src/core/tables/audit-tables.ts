import type { ColumnType, JSONColumnType } from 'kysely';
import type { Time } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends AuditTables {}
}

interface AuditTables {
  audit_chains: {
    account_id: string;
    /** Null until the first row is sealed. */
    head: ColumnType<object | null, string | null, string>;
  };

  audit_checkpoints: {
    account_id: string;
    /** The highest number that was purged. */
    last: number;
    checkpoint: ColumnType<object, string, never>;
  };

  audit_events: {
    id: string;
    account_id: string;
    conversation_id: string | null;
    actor_id: string | null;
    action: string;
    details: ColumnType<Readonly<Record<string, unknown>>, string | undefined, string>;
    created_at: Time;
    /** Grows in the order of the inserts; null for rows from before the chain. */
    position: ColumnType<number | null, never, never>;
    /** The place in the chain; this and the columns below are null until the row is sealed. */
    number: number | null;
    sealed_at: string | null;
    /** Null also once the details are erased. */
    salt: Buffer | null;
    details_hash: Buffer | null;
    hash: Buffer | null;
    /** Signed; present if the details of a sealed row were erased. */
    erasure: ColumnType<object | null, never, string>;
  };

  audit_handovers: {
    account_id: string;
    /** The last link that the former installation has sealed. */
    number: number;
    handover: JSONColumnType<object>;
  };
}
