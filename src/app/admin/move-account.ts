import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { findAccount } from '../../core/accounts/account/accounts.ts';
import { type MoveRow, readMove, writeMove } from '../../core/accounts/account/moves.ts';
import { openObjectStore } from '../../core/attachments/open-store.ts';
import { SigningKey } from '../../core/audit/signing-key.ts';
import type { AccountMoves, CellParts } from '../../core/features/feature.ts';
import { provided } from '../../core/features/installed.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { Disposer } from '../../platform/lifecycle.ts';
import { readConfig } from '../config.ts';
import '../features.ts';
import type { AdminContext } from './admin-context.ts';
import { connect } from './connect.ts';

/**
 * Lets an account move to the cell with this address, or shows how far its move is. The account
 * stays in use here until the target takes it. Throws if it moves elsewhere already.
 */
export async function letMove({ database }: AdminContext, accountId: string, to: string): Promise<MoveRow> {
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
 * Takes an account from the cell whose environment is in the file, or with `isCanceled` gives its
 * move up.
 */
export async function takeAccount(
  context: AdminContext,
  { accountId, from, isCanceled }: { accountId: string; from: string; isCanceled: boolean },
): Promise<object> {
  const moves = provided('accountMoves');
  if (moves === undefined) throw new Error('this build has no such feature');
  const disposer = new Disposer();
  try {
    return await take(moves, context, { accountId, from, isCanceled, disposer });
  } finally {
    await disposer.close();
  }
}

async function take(
  moves: AccountMoves,
  { database, config, log }: AdminContext,
  {
    accountId,
    from,
    isCanceled,
    disposer,
  }: {
    readonly accountId: string;
    readonly from: string;
    readonly isCanceled: boolean;
    readonly disposer: Disposer;
  },
): Promise<object> {
  const sourceConfig = readConfig(parseEnv(await readFile(from, 'utf8')));
  if (sourceConfig.dataDir === config.dataDir) {
    throw new Error(`${from} names the data directory of this cell: both need one of their own`);
  }
  if (sourceConfig.s3 !== null && JSON.stringify(sourceConfig.s3) === JSON.stringify(config.s3)) {
    throw new Error(`${from} names the bucket of this cell: both need one of their own`);
  }
  const options = {
    source: await openCell(sourceConfig, await connect(sourceConfig, log, disposer), disposer),
    target: await openCell(config, database, disposer),
    ...{ accountId, log },
  };
  if (!isCanceled) return { object: 'moved_account', ...(await moves.move(options)) };
  await moves.cancel(options);
  return { object: 'canceled_move', account_id: accountId };
}

async function openCell(
  config: AdminContext['config'],
  database: Database,
  disposer: Disposer,
): Promise<CellParts> {
  const { s3, dataDir, storedBytesPerAccount: accountBytes, publicUrl: url } = config;
  if (url === null) throw new Error('both cells need PARLEY_PUBLIC_URL, the address of each');
  const { store } = await openObjectStore({ database, s3, dataDir, accountBytes, baseUrl: () => url });
  disposer.add('object store', store, (it) => it.close());
  const signingKey = await SigningKey.open({ key: config.auditKey, oldKeys: config.auditOldKeys, dataDir });
  return { database, store, signingKey, url };
}
