import type { Selectable } from 'kysely';
import type { MoveState } from '../../../api/access/tables.ts';
import type { Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';

/** Accounts that move between installations (docs/operations.md#cells). */

export type MoveRow = Pick<Selectable<Schema['account_moves']>, 'account_id' | 'state' | 'cell' | 'number'>;

/** Returns the move of an account, under way or done, or undefined if it never moved. */
export async function readMove(db: Querier, accountId: string): Promise<MoveRow | undefined> {
  const [row] = await db.query(READ, accountId);
  return row;
}

/** Writes the state of a move; every node reads it within a second, as it reads rights. */
export async function writeMove(tx: Tx, { account_id, state, cell, number }: MoveRow): Promise<void> {
  await tx.query(WRITE, account_id, state, cell, number);
  await enqueueRightsChanged(tx, [account_id]);
}

const COLUMNS = 'account_id, state, cell, number';

const READ = statement<[accountId: string], MoveRow>('read-account-move')`
    SELECT ${COLUMNS} FROM account_moves WHERE account_id = $1`;

const WRITE = statement<[accountId: string, state: MoveState, cell: string, number: number]>(
  'write-account-move',
)`
    INSERT INTO account_moves (account_id, state, cell, number) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id) DO UPDATE SET state = excluded.state, cell = excluded.cell,
      number = excluded.number, updated_at = clock_timestamp()`;
