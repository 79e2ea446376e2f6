import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { AccountPlan, Plan } from '@parley/protocol/resources/account.ts';
import { InstallationAccount } from '@parley/protocol/resources/installation-account.ts';
import { requireHere, requireUnmoved } from '../../../api/access/account-moves.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { audit } from '../../audit/audit.ts';
import { presentAs } from '../../resources/present-as.ts';
import {
  type AccountRow,
  beginRemoval,
  countMembers,
  createAccount,
  findAccount,
  lockAccount,
  updateAccount,
} from '../account/accounts.ts';
import { readMove } from '../account/moves.ts';
import { createApiKey } from '../keys/keys.ts';

/**
 * Accounts as operators have them, by commands and by REST. Every change is in the audit of its
 * account, with the id of the key that made it; a command has none.
 */

/** The id of the key of an operator, or undefined for a command. */
export type OperatedBy = string | undefined;

interface NewAccount {
  readonly name: string;
  readonly plan?: Plan | undefined;
}

interface AccountChanges {
  readonly name?: string | undefined;
  readonly plan?: Plan | undefined;
  readonly subscription?: AccountPlan | undefined;
}

/** Creates an account. Returns also its roles. */
export async function openAccount(
  tx: Tx,
  by: OperatedBy,
  { name, plan = 'free' }: NewAccount,
): ReturnType<typeof createAccount> {
  const opened = await createAccount(tx, { name, plan });
  await record(tx, by, opened.account.id, 'account.created', { plan });
  return opened;
}

/** Creates an account with an admin key, whose secret cannot be read again. */
export async function openAccountWithKey(
  tx: Tx,
  by: OperatedBy,
  input: NewAccount,
): Promise<{ readonly account: AccountRow; readonly key: string; readonly keyId: string }> {
  const { account, roles } = await openAccount(tx, by, input);
  const { key, apiKey } = await createApiKey(tx, {
    accountId: account.id,
    name: FIRST_KEY,
    roleId: roles.admin.id,
  });
  return { account, key, keyId: apiKey.id };
}

/** The name of the key that an account is made with. */
export const FIRST_KEY = 'First key';

/**
 * Changes an account; absent fields stay. Throws ApiError: `resource_not_found`, `resource_gone`
 * once its deletion has begun, or as `lockOperated` does.
 */
export async function changeAccount(
  tx: Tx,
  by: OperatedBy,
  id: string,
  changes: AccountChanges,
): Promise<AccountRow> {
  const before = await lockOperated(tx, id);
  if (before.deleted_at !== null) {
    throw new ApiError('resource_gone', `The account ${id} is being deleted.`);
  }
  const { name = before.name, plan = before.plan, subscription = before.subscription } = changes;
  const after = { name, plan, subscription };
  const fields = FIELDS.filter((field) => after[field] !== before[field]);
  if (fields.length === 0) return before;
  // The audit has no names.
  await record(tx, by, id, 'account.updated', { fields, plan, subscription });
  return updateAccount(tx, id, after);
}

const FIELDS = ['name', 'plan', 'subscription'] as const;

/** Begins the removal of a locked account; a repetition changes nothing. */
export async function closeAccount(tx: Tx, by: OperatedBy, before: AccountRow): Promise<AccountRow> {
  if (before.deleted_at !== null) return before;
  await record(tx, by, before.id, 'account.deleted', {});
  return beginRemoval(tx, before.id);
}

/**
 * Returns an account of this installation. Throws ApiError as `requireHere` and `findAccount` do.
 */
export async function findOperated(db: Db, id: string): Promise<AccountRow> {
  requireHere(await readMove(db, id));
  return findAccount(db, id);
}

/** Locks an account that is to change. Throws ApiError also while it leaves the installation. */
export async function lockOperated(tx: Tx, id: string): Promise<AccountRow> {
  await lockAccount(tx, id);
  requireUnmoved(await readMove(tx, id));
  return findOperated(tx, id);
}

/** The accounts of this installation, newest first, without those that have left it. */
export const OPERATED_ACCOUNTS = keysetList<[], AccountRow>({
  name: 'list-operated-accounts',
  columns: 't.*',
  from: 'accounts t',
  where: `NOT EXISTS (SELECT FROM account_moves m WHERE m.account_id = t.id AND m.state = 'left')`,
  search: ['t.name'],
  key: [
    ['t.created_at', 'timestamptz'],
    ['t.id', 'text'],
  ],
});

/** Returns the accounts of these rows, by their ids. */
export async function presentOperated(
  db: Db,
  rows: readonly AccountRow[],
): Promise<ReadonlyMap<string, InstallationAccount>> {
  const counts = await countMembers(
    db,
    rows.map(({ id }) => id),
  );
  return new Map(
    rows.map((row) => [row.id, presentAs(InstallationAccount, { ...row, ...counts.get(row.id)! })]),
  );
}

export async function showOperated(db: Db, row: AccountRow): Promise<InstallationAccount> {
  return (await presentOperated(db, [row])).get(row.id)!;
}

function record(
  tx: Tx,
  by: OperatedBy,
  accountId: string,
  action: 'account.created' | 'account.updated' | 'account.deleted',
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  return audit(tx, { accountId, action, details: { ...(by && { operator_key_id: by }), ...details } });
}
