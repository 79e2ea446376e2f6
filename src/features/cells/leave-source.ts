import { type MoveRow, writeMove } from '../../core/accounts/account/moves.ts';
import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Cell } from './cell.ts';
import { readPending, removePending } from './pending-events.ts';
import { removeRows } from './row-copy.ts';

/**
 * Ends a fenced account that another cell has, permanently. Its requests are answered with the
 * address of `cell`, no work for it begins here, and the nodes remove its remains.
 */
export function leaveSource(source: Cell, move: Omit<MoveRow, 'state'>): Promise<void> {
  const { account_id: accountId } = move;
  return source.transaction(async (tx) => {
    await writeMove(tx.tx, { ...move, state: 'left' });
    await removePending(tx, await readPending(tx, accountId));
    for (const table of source.tables) {
      const { last = 'true' } = table[1];
      // These rows begin work; other rows are removed by the source's nodes.
      if (last !== 'true') await removeRows(tx, table, accountId, last);
    }
    await tx.query(RELEASE_HOLDS, accountId);
    await tx.query(END_ACCOUNT, accountId);
    await enqueueRightsChanged(tx.tx, [accountId]);
  });
}

const RELEASE_HOLDS = statement<[accountId: string]>('release-moved-holds')`
  UPDATE conversations SET legal_hold = 'released'
  WHERE account_id = $1 AND legal_hold = 'held'`;

const END_ACCOUNT = statement<[accountId: string]>('end-moved-account')`
  UPDATE accounts SET deleted_at = coalesce(deleted_at, clock_timestamp()),
  subscription = 'inactive' WHERE id = $1`;
