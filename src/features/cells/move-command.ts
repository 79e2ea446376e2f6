import { findAccount } from '../../core/accounts/account/accounts.ts';
import { type MoveRow, readMove, writeMove } from '../../core/accounts/account/moves.ts';
import type { CommandContext } from '../../core/features/command.ts';
import { type CellParts, cancelMove, moveAccount } from './account-move.ts';

/**
 * Allows an account to move to the cell with this address, or shows how far its move is. The
 * account stays in use here until the target takes it. Throws if it moves elsewhere already.
 */
export async function letMove({ database }: CommandContext, accountId: string, to: string): Promise<MoveRow> {
  const move = await readMove(database, accountId);
  const isUnderWay = move !== undefined && move.state !== 'arrived';
  if (isUnderWay && move.cell !== to) {
    throw new Error(`the account ${accountId} moves between this cell and ${move.cell} (${move.state})`);
  }
  if (isUnderWay) return move;
  const { id, deleted_at } = await findAccount(database, accountId);
  if (deleted_at !== null) throw new Error(`the account ${id} is being removed`);
  const leaving = { account_id: id, state: 'leaving', cell: to, number: (move?.number ?? 0) + 1 } as const;
  await database.transaction((tx) => writeMove(tx, leaving));
  return leaving;
}

/**
 * Takes an account from the cell whose environment is in the file, or cancels its move with
 * `isCanceled`.
 */
export async function takeAccount(
  context: CommandContext,
  { accountId, from, isCanceled }: { accountId: string; from: string; isCanceled: boolean },
): Promise<object> {
  const { config } = context;
  const other = await context.openOther(from);
  if (other.config.dataDir === config.dataDir) {
    throw new Error(`${from} names the data directory of this cell: both need one of their own`);
  }
  if (other.config.s3 !== null && JSON.stringify(other.config.s3) === JSON.stringify(config.s3)) {
    throw new Error(`${from} names the bucket of this cell: both need one of their own`);
  }
  const source = await openCell(other);
  const options = { source, target: await openCell(context), accountId, log: context.log };
  if (!isCanceled) return { object: 'moved_account', ...(await moveAccount(options)) };
  await cancelMove(options);
  return { object: 'canceled_move', account_id: accountId };
}

async function openCell({ config, database, openStore, openSigningKey }: CommandContext): Promise<CellParts> {
  const { publicUrl: url } = config;
  if (url === null) throw new Error('both cells need PARLEY_PUBLIC_URL, the address of each');
  return { database, store: await openStore(), signingKey: await openSigningKey(), url };
}
