import type { KeysetList } from '../../platform/db/connection/keyset.ts';
/** The operator's commands. Each loads its modules when it runs, as each call is a process. */

import type { AccountPlan, Plan } from '@parley/protocol/resources/account.ts';
import {
  ACCOUNT,
  type Command,
  type Commands,
  inTransaction,
  LIMIT,
  listOf,
  MAX_ROWS,
  type Option,
  oneOf,
  USER,
  UsageError,
} from '../../core/features/command.ts';
import { cellCommands } from '../../features/cells/commands.ts';
import { complianceCommands } from '../../features/compliance/commands.ts';
import { importCommands } from '../../features/import/commands.ts';
import { pushCommands } from '../../features/push/commands.ts';
import type { Database } from '../../platform/db/connection/database.ts';

const NAME: Option = { help: 'name that people see', value: 'N', required: true };
const SEARCH: Option = {
  help: 'only those with this text in their name (or e-mail address), case ignored',
  value: 'TEXT',
};
// Repeats packages/protocol/resources/account.ts, which takes a tenth of a second to load; the
// types check that both are equal.
const PLAN = oneOf('plan of the account; free if left out', ['free', 'pro'] satisfies Plan[]);
const SUBSCRIPTION = oneOf(
  'inactive: every request but GET /v1/account is answered 402 until it is active again',
  ['active', 'inactive'] satisfies AccountPlan[],
);
const ROLE: Option = {
  help: 'role of the account, by its name or id',
  value: 'admin|member|viewer|rol_…',
  required: true,
};
const EMAIL: Option = {
  help: 'e-mail address, unique within the account',
  value: 'E',
  required: true,
  check: { accepts: 'an e-mail address', test: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
};
const EXPIRES: Option = {
  help: 'when the key ends; never if left out',
  value: 'T',
  check: {
    accepts: 'a future time such as 2030-01-31T00:00:00Z',
    test: (text) => /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) && Date.parse(text) > Date.now(),
  },
};

const OF_CORE: Commands = {
  'account create': {
    help: 'Create an account with the roles admin, member, viewer, agent, scanner and sales_rep',
    options: { name: NAME, plan: PLAN },
    run: inTransaction(async (tx, { name = '', plan }) => {
      const { openAccount } = await import('../../core/accounts/installation/operated-accounts.ts');
      const { addedRolesOf } = await import('../../core/accounts/rights/roles.ts');
      const { account, roles } = await openAccount(tx, undefined, { name, plan: plan as Plan | undefined });
      const all = [...Object.values(roles), ...(await addedRolesOf(tx, account.id))];
      const shown = all.map(({ id, name, type }) => ({ id, name, type }));
      return { object: 'account', ...account, roles: shown };
    }),
  },
  'account set': {
    help: 'Change the name, the plan or the subscription of an account',
    options: {
      id: ACCOUNT,
      name: { help: 'another name', value: NAME.value },
      plan: { ...PLAN, help: 'another plan' },
      subscription: SUBSCRIPTION,
    },
    run: inTransaction(async (tx, { id = '', name, plan, subscription }) => {
      if (!name && !plan && !subscription)
        throw new UsageError('account set needs --name, --plan or --subscription');
      const { changeAccount } = await import('../../core/accounts/installation/operated-accounts.ts');
      const account = await changeAccount(tx, undefined, id, {
        name,
        plan: plan as Plan | undefined,
        subscription: subscription as AccountPlan | undefined,
      });
      return { object: 'account', ...account };
    }),
  },
  'account list': {
    help: 'List the accounts of this deployment',
    options: { search: SEARCH, limit: LIMIT },
    async run({ database }, { search, limit }) {
      const { OPERATED_ACCOUNTS } = await import('../../core/accounts/installation/operated-accounts.ts');
      return listOf('account', limit, (fetch) => readPage(OPERATED_ACCOUNTS, database, [], search, fetch));
    },
  },
  'account show': {
    help: 'Show an account with its roles and the number of its users and keys',
    options: { id: ACCOUNT },
    async run({ database }, { id = '' }) {
      const { countMembers, findAccount } = await import('../../core/accounts/account/accounts.ts');
      const { ROLES } = await import('../../core/accounts/rights/roles.ts');
      const account = await findAccount(database, id);
      const roles = await readPage(ROLES, database, [id], undefined, MAX_ROWS);
      return {
        object: 'account',
        ...account,
        roles: roles.map(({ id, name, type }) => ({ id, name, type })),
        ...(await countMembers(database, [id])).get(id),
      };
    },
  },
  'key create': {
    help: 'Create an API key; its secret is printed this once',
    options: {
      account: ACCOUNT,
      name: NAME,
      role: { help: 'role of the key, by its name or id; admin if left out', value: ROLE.value },
      expires: EXPIRES,
    },
    run: inTransaction(async (tx, { account = '', name = '', role = 'admin', expires }) => {
      const { findAccount } = await import('../../core/accounts/account/accounts.ts');
      const { createApiKey } = await import('../../core/accounts/keys/keys.ts');
      const { findRole } = await import('../../core/accounts/rights/roles.ts');
      const { id: accountId } = await findAccount(tx, account);
      const { id: roleId } = await findRole(tx, accountId, role);
      const { key, apiKey } = await createApiKey(tx, {
        accountId,
        name,
        roleId,
        ...(expires && { expiresAt: expires }),
      });
      const { hash: _, ...shown } = apiKey;
      return { object: 'api_key', ...shown, role_id: roleId, key };
    }),
  },
  'key list': accountList(
    'List the API keys of an account, revoked and expired ones included, without their secrets',
    'api_key',
    async () => (await import('../../core/accounts/keys/keys.ts')).API_KEYS,
  ),
  'key revoke': {
    help: 'End an API key at once and for good',
    options: { id: { help: 'id of the key, see "key list"', value: 'key_…', required: true } },
    run: inTransaction(async (tx, { id = '' }) => {
      const { revokeApiKey } = await import('../../core/accounts/keys/keys.ts');
      const { hash: _, ...shown } = await revokeApiKey(tx, id);
      return { object: 'api_key', ...shown };
    }),
  },
  'role list': accountList('List the roles of an account with their permissions', 'role', async () => {
    return (await import('../../core/accounts/rights/roles.ts')).ROLES;
  }),
  'user create': {
    help: 'Create a user of an account',
    options: { account: ACCOUNT, name: NAME, email: EMAIL, role: ROLE },
    run: inTransaction(async (tx, { account = '', name = '', email = '', role = '' }) => {
      const { findAccount } = await import('../../core/accounts/account/accounts.ts');
      const { findRole } = await import('../../core/accounts/rights/roles.ts');
      const { createUser, findAnyUser } = await import('../../core/accounts/actors/users.ts');
      const { id: accountId } = await findAccount(tx, account);
      const { id: roleId } = await findRole(tx, accountId, role);
      const { user } = await createUser(tx, { accountId, name, email, roleId });
      return { object: 'user', ...(await findAnyUser(tx, user.id)) };
    }),
  },
  'user list': accountList('List the users of an account', 'user', async () => {
    const { USERS } = await import('../../core/accounts/actors/users.ts');
    return { ...USERS, readPage: (db, [id], page) => USERS.readPage(db, [id, null], page) };
  }),
  'user show': {
    help: 'Show a user, deactivated or not',
    options: { id: USER },
    async run({ database }, { id = '' }) {
      const { findAnyUser } = await import('../../core/accounts/actors/users.ts');
      return { object: 'user', ...(await findAnyUser(database, id)) };
    },
  },
  'user deactivate': activation('End the sessions and tokens of a user for good; their messages stay', false),
  'user activate': activation(
    'Let a deactivated user sign in again, with the role and memberships of before',
    true,
  ),
  'token create': {
    help: 'Issue an access and a refresh token for a user (set PARLEY_TOKEN_SECRET as on the nodes)',
    options: { user: USER },
    async run({ database, openTokens }, { user = '' }) {
      const { issueTokenPair } = await import('../../core/accounts/sessions/token-pairs.ts');
      const { findAnyUser } = await import('../../core/accounts/actors/users.ts');
      const { id, account_id, role_id, deactivated } = await findAnyUser(database, user);
      if (deactivated) throw new Error(`the user ${id} is deactivated: no token would be accepted`);
      if (role_id === null) throw new Error(`the user ${id} has no role: no token would be accepted`);
      const pair = await issueTokenPair(database, await openTokens(), { accountId: account_id, actorId: id });
      return { ...pair, user_id: id, account_id };
    },
  },
  'operator add': {
    first: 'user',
    help: 'Let a user see the installation as a whole: its nodes, their figures, what to do',
    options: { user: USER, account: { ...ACCOUNT, help: "id of the user's account" } },
    run: inTransaction(async (tx, { user: id = '', account = '' }) => {
      const { addOperator } = await import('../../core/accounts/users/operators.ts');
      const { lockUser } = await import('../../core/accounts/actors/users.ts');
      const user = await lockUser(tx, account, id);
      if (user === undefined) throw new Error(`the account ${account} has no user ${id}`);
      return { object: 'operator', ...(await addOperator(tx, user)) };
    }),
  },
  'operator remove': {
    first: 'user',
    help: 'End what an operator sees of the installation, on every node within a second',
    options: { user: USER },
    run: inTransaction(async (tx, { user: id = '' }) => {
      const { readOperator, removeOperator } = await import('../../core/accounts/users/operators.ts');
      const operator = await readOperator(tx, id);
      if (operator === undefined) throw new Error(`the user ${id} is no operator`);
      await removeOperator(tx, { id, account_id: operator.account_id });
      return { object: 'operator', ...operator };
    }),
  },
  'operator list': {
    help: 'List the users that see the installation as a whole',
    options: { limit: LIMIT },
    run: async ({ database }, { limit }) => {
      const { listOperators } = await import('../../core/accounts/users/operators.ts');
      return listOf('operator', limit, (fetch) => listOperators(database, fetch));
    },
  },
  'operator key create': {
    help: 'Create a key that operates the installation over REST; its secret is printed this once',
    options: { name: { ...NAME, help: 'name of the program that has it' }, expires: EXPIRES },
    run: inTransaction(async (tx, { name = '', expires }) => {
      const { createOperatorKey } = await import('../../core/accounts/installation/operator-keys.ts');
      return {
        object: 'operator_key',
        ...(await createOperatorKey(tx, { name, expiresAt: expires ?? null })),
      };
    }),
  },
  'operator key list': {
    help: 'List the keys that operate the installation, ended ones included, without their secrets',
    options: { limit: LIMIT },
    run: async ({ database }, { limit }) => {
      const { listOperatorKeys } = await import('../../core/accounts/installation/operator-keys.ts');
      return listOf('operator_key', limit, (fetch) => listOperatorKeys(database, fetch));
    },
  },
  'operator key revoke': {
    first: 'id',
    help: 'End a key that operates the installation, at once and for good',
    options: { id: { help: 'id of the key, see "operator key list"', value: 'opk_…', required: true } },
    run: inTransaction(async (tx, { id = '' }) => {
      const { revokeOperatorKey } = await import('../../core/accounts/installation/operator-keys.ts');
      return { object: 'operator_key', ...(await revokeOperatorKey(tx, id)) };
    }),
  },
  'audit key': {
    help: 'Show the id and the public key of what signs the audit; makes the key if there is none',
    options: {},
    async run({ openSigningKey }) {
      const { id, publicKey, trusted } = await openSigningKey();
      return { object: 'audit_key', key_id: id, public_key: publicKey, trusted_key_ids: trusted.ids };
    },
  },
  'audit export': {
    help: 'Print the audit of an account as a chain of links, one JSON object a line, for "audit verify"',
    options: { account: ACCOUNT },
    async run({ database, print }, { account = '' }) {
      const { findAccount } = await import('../../core/accounts/account/accounts.ts');
      const { exportAudit } = await import('../../core/audit/chain-store.ts');
      const { id } = await findAccount(database, account);
      await exportAudit(database, id, print);
      return undefined;
    },
  },
  'audit verify': {
    first: 'file',
    help: 'Verify an export of the audit, without a database; the first row that does not hold is named',
    options: {
      file: { help: 'what "audit export" printed', value: 'FILE', required: true },
      head: {
        help: 'file of a head that was kept, as GET /v1/account/audit/head answered or as it was logged; several, one a line',
        value: 'FILE',
      },
      key: {
        help: 'public keys that may have signed, by commas, as "audit key" shows them; if left out, those of the kept heads, else that of the export itself',
        value: 'K',
      },
    },
    offline: true,
    async run(_context, { file = '', head, key }) {
      const { verifyFile } = await import('../../core/audit/verify-file.ts');
      return verifyFile({ file, headFile: head, publicKeys: key?.split(',') });
    },
  },
  'redis use': {
    help: 'Have all running nodes use the Redis of REDIS_URL, which each was restarted with before',
    options: {},
    async run({ database, config }) {
      const { changeRedisList } = await import('../../platform/db/notices/redis-list.ts');
      const { readRedisUrl } = await import('../../platform/engine/redis/redis-address.ts');
      const addresses = config.redisUrl === null ? [] : readRedisUrl(config.redisUrl)!;
      if (addresses.length === 0) throw new UsageError('redis use needs REDIS_URL');
      if (addresses[0]?.cluster !== undefined)
        throw new UsageError('a Redis Cluster says itself which servers it has');
      const names = addresses.map(({ name }) => name);
      return { object: 'redis_list', ...(await changeRedisList(database, names)) };
    },
  },
  migrate: {
    help: 'Migrate the database to the schema of this version, as a start does',
    options: {},
    async run({ database }) {
      const { appliedMigrations } = await import('../../platform/db/migration/migrated.ts');
      const names = await appliedMigrations(database);
      return { object: 'database', server_version: database.serverVersion, migration: names.at(-1) ?? null };
    },
  },
};

/** Those of the core and of the features, by their names. */
export const COMMANDS: Commands = Object.fromEntries(
  Object.entries({
    ...OF_CORE,
    ...cellCommands,
    ...complianceCommands,
    ...importCommands,
    ...pushCommands,
  }).sort(([one], [other]) => (one < other ? -1 : 1)),
);

/** Returns the command that lists what an account has. */
function accountList<Row extends object>(
  help: string,
  object: string,
  load: () => Promise<Pick<KeysetList<[accountId: string], Row>, 'readPage'>>,
): Command {
  return {
    help,
    options: { account: ACCOUNT, search: SEARCH, limit: LIMIT },
    async run({ database }, { account = '', search, limit }) {
      const { findAccount } = await import('../../core/accounts/account/accounts.ts');
      const list = await load();
      const { id } = await findAccount(database, account);
      return listOf(object, limit, (fetch) => readPage(list, database, [id], search, fetch));
    },
  };
}

function activation(help: string, isActive: boolean): Command {
  return {
    help,
    options: { id: USER },
    run: inTransaction(async (tx, { id = '' }) => {
      const { setActive } = await import('../../core/accounts/users/activation.ts');
      return { object: 'user', ...(await setActive(tx, id, isActive)) };
    }),
  };
}

function readPage<Values extends readonly string[], Row extends object>(
  list: Pick<KeysetList<Values, Row>, 'readPage'>,
  database: Database,
  values: Values,
  search: string | undefined,
  fetch: number,
): Promise<Row[]> {
  const page = { direction: 'next', after: null, fetch, search: search ?? null } as const;
  return list.readPage(database, values, page);
}
