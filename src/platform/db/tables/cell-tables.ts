import type { JSONColumnType } from 'kysely';
import type { Times } from './touched.ts';

export interface CellTables {
  /** Accounts that move between this installation and another one, or have left it. */
  account_moves: Times & {
    account_id: string;
    state: MoveState;
    /** The public URL of the other installation. */
    cell: string;
    /** 1 for the first move of the account, and one more for each that follows. */
    number: number;
    /**
     * Rows of older transactions of the source are in the target; a transaction id of the source.
     */
    copied_through: string | null;
  };

  audit_handovers: {
    account_id: string;
    /** The last link that the former installation has sealed. */
    number: number;
    handover: JSONColumnType<object>;
  };
}

/**
 * Of the source: `leaving` while it is in use, `closing` once changes are refused, `fenced` once
 * Postgres refuses them, `left` for good. Of the target: `arriving`, then `arrived`.
 */
export type MoveState = 'leaving' | 'closing' | 'fenced' | 'left' | 'arriving' | 'arrived';
