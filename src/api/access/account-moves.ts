import { ApiError, unavailable } from '@parley/protocol/errors/errors.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { MoveState } from './tables.ts';

/** Accounts that move between installations, as requests meet them (docs/operations.md#cells). */

/** The move of an account, under way or done. */
export interface AccountMove {
  readonly state: MoveState;
  /** The public URL of the other installation. */
  readonly cell: string;
}

/** Returns the move in the columns of a LEFT JOIN; undefined for an account that never moved. */
export function moveOf({ state, cell }: MoveColumns): AccountMove | undefined {
  return state === null ? undefined : { state, cell: cell! };
}

export interface MoveColumns {
  readonly state: MoveState | null;
  readonly cell: string | null;
}

/**
 * Throws ApiError for an account that is in use elsewhere: `account_in_other_cell` once it has
 * left, `service_unavailable` before it has arrived.
 */
export function requireHere(move: AccountMove | undefined): void {
  if (move?.state === 'left') throw inOtherCell(move.cell);
  if (move?.state === 'arriving') throw moving();
}

/** Throws ApiError `service_unavailable` for a change while the account is about to leave. */
export function requireUnmoved(move: AccountMove | undefined): void {
  if (move?.state === 'closing' || move?.state === 'fenced') throw moving();
}

export interface WhereaboutsOptions {
  readonly database: Pick<Database, 'checks'>;
  /** The public URL of the installation that knows where unknown accounts are, if any. */
  readonly homeCell: string | null;
}

/** Explains refusals of callers whose account is in another installation. */
export class Whereabouts {
  readonly #options: WhereaboutsOptions;

  constructor(options: WhereaboutsOptions) {
    this.#options = options;
  }

  /**
   * Returns the answer to a request that was refused because its caller, or the account that it
   * names, is unknown. It differs from the refusal if the account is in another installation, or on
   * its way to this one. Other refusals are returned unchanged. Reads Postgres, which only refused
   * requests then do. Never rejects.
   */
  async explain(refusal: ApiError, accountId: string | undefined): Promise<ApiError> {
    if (!accountId || !UNKNOWN.has(refusal.status)) return refusal;
    const { database, homeCell } = this.#options;
    try {
      const [found] = await database.checks.query(READ, accountId);
      const move = moveOf(found!);
      requireHere(move);
      if (found!.known || move !== undefined || homeCell === null) return refusal;
      return inOtherCell(homeCell);
    } catch (error) {
      // Without Postgres the refusal stands.
      return error instanceof ApiError ? error : refusal;
    }
  }
}

const UNKNOWN: ReadonlySet<number> = new Set([401, 404]);

const READ = statement<[accountId: string], MoveColumns & { readonly known: boolean }>('read-whereabouts')`
    SELECT m.state, m.cell, EXISTS (SELECT FROM accounts WHERE id = $1) AS known
    FROM (VALUES (1)) one LEFT JOIN account_moves m ON m.account_id = $1`;

function inOtherCell(cellUrl: string): ApiError {
  const message = 'The account is in another installation. Send the request to cell_url.';
  return new ApiError('account_in_other_cell', message, { cellUrl });
}

function moving(): ApiError {
  return unavailable('The account is being moved to another installation. Try again in a moment.');
}
