import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { Account, type Plan, type UpdateAccountBody } from '@parley/protocol/resources/account.ts';
import { type Selectable, sql, type UpdateObject } from 'kysely';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { auditAccount } from '../../audit/audit.ts';
import type { GroupRow } from '../../resources/group.ts';
import { presentAs } from '../../resources/present-as.ts';
import type { RoleRow } from '../../resources/role.ts';
import { CUSTOMER_SERVICE, createGroup } from '../groups/groups.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';
import { createRole, type NewRole } from '../rights/roles.ts';

/**
 * Creates an account with the roles below and the 'Customer Service' persona. A trigger adds the
 * roles of stations and representatives (migrations/baseline/accounts.sql).
 */
export async function createAccount(
  tx: Tx,
  input: { readonly name: string; readonly plan?: Plan },
): Promise<{ account: AccountRow; roles: Record<DefaultRole, RoleRow>; customerService: GroupRow }> {
  const account = await tx.kysely
    .insertInto('accounts')
    .values({ id: newId('account'), name: input.name, plan: input.plan ?? 'free' })
    .returningAll()
    .executeTakeFirstOrThrow();
  const make = (name: DefaultRole) => createRole(tx, { accountId: account.id, name, ...DEFAULT_ROLES[name] });
  return {
    account,
    roles: {
      admin: await make('admin'),
      member: await make('member'),
      viewer: await make('viewer'),
      agent: await make('agent'),
    },
    customerService: await createGroup(tx, { accountId: account.id, name: CUSTOMER_SERVICE }),
  };
}

/** Locks the account until the transaction ends, so that changes of its admins are serialised. */
export async function lockAccount(tx: Tx, id: string): Promise<void> {
  await tx.kysely.selectFrom('accounts').select('id').where('id', '=', id).forNoKeyUpdate().execute();
}

/** Throws `resource_not_found`. */
export async function findAccount(db: Db, id: string): Promise<AccountRow> {
  return db.kysely
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow(() => noSuchAccount(id));
}

interface Members {
  readonly active_users: number;
  readonly active_keys: number;
}

/** Counts the users and keys of each account that can act now. */
export async function countMembers(
  db: Db,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, Members>> {
  const rows = await db.query(COUNT_MEMBERS, accountIds);
  return new Map(rows.map(({ account_id, ...members }) => [account_id, members]));
}

/**
 * Updates an account; absent fields stay. Announces the change, since nodes cache the subscription
 * with the rights. Throws `resource_not_found`.
 */
export async function updateAccount(
  tx: Tx,
  id: string,
  changes: Pick<
    UpdateObject<Schema, 'accounts'>,
    | 'name'
    | 'plan'
    | 'subscription'
    | 'picture_metadata'
    | 'own_ids'
    | 'push_content'
    | 'people'
    | 'handles'
    | 'deleted_at'
  >,
): Promise<AccountRow> {
  const account = await tx.kysely
    .updateTable('accounts')
    .set({ ...changes, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow(() => noSuchAccount(id));
  await enqueueRightsChanged(tx, [id]);
  return account;
}

/** Changes the settings of the caller's account, which is audited; absent fields stay. */
export async function changeSettings(
  tx: Tx,
  principal: Principal,
  settings: UpdateAccountBody,
): Promise<AccountRow> {
  const { accountId } = principal;
  await lockAccount(tx, accountId);
  const before = await findAccount(tx, accountId);
  const changed = Object.entries(settings).filter(
    ([name, value]) => before[name as keyof UpdateAccountBody] !== value,
  );
  if (changed.length === 0) return before;
  const changes: UpdateAccountBody = Object.fromEntries(changed);
  await auditAccount(tx, principal, 'account.updated', { ...changes });
  return updateAccount(tx, accountId, changes);
}

/**
 * Ends every credential of an account that will be removed, for good, on all nodes within a second.
 * Throws `resource_not_found`.
 */
export function beginRemoval(tx: Tx, id: string): Promise<AccountRow> {
  return updateAccount(tx, id, {
    deleted_at: sql<string>`coalesce(deleted_at, clock_timestamp())`,
    // Work without a credential, such as a schedule, checks only the subscription.
    subscription: 'inactive',
  });
}

/** Returns the accounts to be removed whose rights no node can still have in memory. */
export async function readRemovableAccounts(db: Db): Promise<string[]> {
  const rows = await db.query(READ_REMOVABLE);
  return rows.map(({ id }) => id);
}

export type DefaultRole = 'admin' | 'member' | 'viewer' | 'agent';

const DEFAULT_ROLES: Readonly<Record<DefaultRole, Pick<NewRole, 'type' | 'permissions'>>> = {
  // An admin role holds every permission, including those of later versions.
  admin: { type: 'admin', permissions: [] },
  member: {
    type: 'user',
    permissions: [
      'messaging:read',
      'messaging:create',
      'messaging:update',
      'agents:read',
      'agents:create',
      'agents:run',
      'inboxes:read',
    ],
  },
  viewer: { type: 'user', permissions: ['messaging:read'] },
  // Without messaging:send_external: its replies to customers are drafts that a person approves.
  agent: { type: 'agent', permissions: ['messaging:read', 'messaging:create'] },
};

function noSuchAccount(id: string): ApiError {
  return new ApiError('resource_not_found', `There is no account ${id}.`, { param: 'id' });
}

/** Rights are cached for 30 seconds at most (api/access/rights.ts). */
const READ_REMOVABLE = statement<[], { id: string }>('read-removable-accounts')`
    SELECT id FROM accounts WHERE deleted_at < clock_timestamp() - interval '35 seconds' ORDER BY deleted_at LIMIT 10`;

const COUNT_MEMBERS = statement<[accountIds: readonly string[]], Members & { readonly account_id: string }>(
  'count-members',
)`
    SELECT account_id,
      (SELECT count(*) FROM users u JOIN actors a ON a.id = u.id
        WHERE u.account_id = of.account_id AND a.deactivated_at IS NULL) AS active_users,
      (SELECT count(*) FROM api_keys k WHERE k.account_id = of.account_id AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())) AS active_keys
    FROM unnest($1::text[]) AS of(account_id)`;

export type AccountRow = Selectable<Schema['accounts']>;

export function presentAccount(row: AccountRow): Account {
  return presentAs(Account, row);
}
