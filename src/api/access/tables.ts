import type { Generated } from 'kysely';
import type { Time, Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends AccessTables {}
}

interface AccessTables {
  idempotency_keys: {
    hash: Buffer;
    fingerprint: Buffer;
    claim: string;
    claimed_until: string;
    status: number | null;
    response: Buffer | null;
    /** The response is readable only with the Idempotency-Key itself. */
    encrypted: Generated<boolean>;
    /** Null in rows of an earlier version. */
    account_id: string | null;
    /** The id of the resource that the response shows. */
    about: string | null;
    created_at: Time;
  };

  /** The credentials of programs that operate the installation. */
  operator_keys: {
    id: string;
    name: string;
    hash: Buffer;
    redacted: string;
    expires_at: string | null;
    revoked_at: string | null;
    created_at: Time;
  };

  /** Accounts that move between this installation and another one, or have left it. */
  account_moves: Times & {
    account_id: string;
    state: MoveState;
    /** The public URL of the other installation. */
    cell: string;
    /** 1 for the account's first move, and one more for each further move. */
    number: number;
    /** A transaction id of the source: rows of older transactions are in the target. */
    copied_through: string | null;
  };
}

/**
 * Of the source: `leaving` while it is in use, `closing` once changes are refused, `fenced` once
 * Postgres refuses them, `left` for good. Of the target: `arriving`, then `arrived`.
 */
export type MoveState = 'leaving' | 'closing' | 'fenced' | 'left' | 'arriving' | 'arrived';
