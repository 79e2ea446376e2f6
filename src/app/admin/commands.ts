import type { KeysetList } from '../../platform/db/connection/keyset.ts';
/** The operator's commands. Each loads its modules when it runs, as each call is a process. */

import type { AccountPlan, Plan } from '@parley/protocol/resources/account.ts';
import type { ImportSource } from '@parley/protocol/resources/import.ts';
import type { Feature } from '../../core/features/feature.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import type { AdminContext } from './admin-context.ts';
import { type Command, type Commands, type Option, type Options, oneOf, UsageError } from './command-line.ts';

const ACCOUNT: Option = { help: 'id of the account', value: 'acc_…', required: true };
const NAME: Option = { help: 'name that people see', value: 'N', required: true };
const USER: Option = { help: 'id of the user', value: 'act_…', required: true };
const SEARCH: Option = {
  help: 'only those with this text in their name (or e-mail address), case ignored',
  value: 'TEXT',
};
const MAX_ROWS = 10_000;
const LIMIT: Option = {
  help: 'how many at most, newest first; 100 if left out',
  value: 'N',
  check: {
    accepts: `a whole number from 1 to ${MAX_ROWS}`,
    test: (text) => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= MAX_ROWS,
  },
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

export const COMMANDS: Commands<AdminContext> = {
  'account create': {
    help: 'Create an account with the roles admin, member, viewer, agent, scanner and sales_rep',
    options: { name: NAME, plan: PLAN },
    run: inTransaction(async (tx, { name = '', plan }) => {
      const { createAccount } = await import('../../core/accounts/account/accounts.ts');
      const { addedRolesOf } = await import('../../core/accounts/rights/roles.ts');
      const { account, roles } = await createAccount(tx, { name, ...(plan && { plan: plan as Plan }) });
      const all = [...Object.values(roles), ...(await addedRolesOf(tx, account.id))];
      const shown = all.map(({ id, name, type }) => ({ id, name, type }));
      return { object: 'account', ...account, roles: shown };
    }),
  },
  'account set': {
    help: 'Change the plan or the subscription of an account',
    options: {
      id: ACCOUNT,
      plan: { ...PLAN, help: 'another plan' },
      subscription: SUBSCRIPTION,
    },
    run: inTransaction(async (tx, { id = '', plan, subscription }) => {
      if (!plan && !subscription) throw new UsageError('account set needs --plan or --subscription');
      const { updateAccount } = await import('../../core/accounts/account/accounts.ts');
      const account = await updateAccount(tx, id, {
        ...(plan && { plan: plan as Plan }),
        ...(subscription && { subscription: subscription as AccountPlan }),
      });
      return { object: 'account', ...account };
    }),
  },
  'account list': {
    help: 'List the accounts of this deployment',
    options: { search: SEARCH, limit: LIMIT },
    async run({ database }, { search, limit }) {
      const { listAccounts } = await import('../../core/accounts/account/accounts.ts');
      return listOf('account', limit, (fetch) => listAccounts(database, { search: search ?? null, fetch }));
    },
  },
  'account show': {
    help: 'Show an account with its roles and the number of its users and keys',
    options: { id: ACCOUNT },
    async run({ database }, { id = '' }) {
      const { countMembers, findAccount } = await import('../../core/accounts/account/accounts.ts');
      const { ROLES } = await import('../../core/accounts/rights/roles.ts');
      const account = await findAccount(database, id);
      const roles = await readPage(ROLES, database, id, undefined, MAX_ROWS);
      return {
        object: 'account',
        ...account,
        roles: roles.map(({ id, name, type }) => ({ id, name, type })),
        ...(await countMembers(database, id)),
      };
    },
  },
  'account delete': {
    help: 'Delete an account for good, unless a conversation of it is under legal hold; running nodes remove it',
    options: {
      id: ACCOUNT,
      confirm: {
        help: 'the same id again; without it nothing is deleted, and what would be is shown',
        value: 'acc_…',
      },
    },
    run: inTransaction(async (tx, { id = '', confirm }) => {
      if (confirm !== undefined && confirm !== id)
        throw new UsageError(`--confirm must be ${id}, the id of the account`);
      const { countMembers, findAccount } = await import('../../core/accounts/account/accounts.ts');
      const { readHead } = await import('../../core/audit/chain-store.ts');
      const removal = await ofFeature('accountRemoval');
      const { name } = await findAccount(tx, id);
      await removal.check(tx, id);
      const shown = { object: 'account_deletion', account_id: id, name, ...(await countMembers(tx, id)) };
      if (confirm === undefined)
        return { ...shown, deleted_at: null, to_delete: `account delete --id ${id} --confirm ${id}` };
      const { deleted_at } = await removal.begin(tx, id);
      const { head } = await readHead(tx, id);
      return { ...shown, deleted_at, audit_head: head };
    }),
  },
  'account move-out': {
    help: 'Let an account move to another cell, which takes it with "account move-in"; shows how far it is',
    options: {
      id: ACCOUNT,
      to: {
        help: 'address of the other cell, its PARLEY_PUBLIC_URL',
        value: 'URL',
        required: true,
        check: {
          accepts: 'an http(s) URL without a path',
          test: (text) => /^https?:\/\/[^/\s]+$/.test(text),
        },
      },
    },
    async run(context, { id = '', to = '' }) {
      const { letMove } = await import('./move-account.ts');
      return { object: 'account_move', ...(await letMove(context, id, to)) };
    },
  },
  'account move-in': {
    help: 'Take an account from another cell, which has let it move; run again, it goes on where it stopped',
    connections: 4,
    options: {
      id: ACCOUNT,
      from: {
        help: 'file with the environment of the other cell, as NAME=value',
        value: 'FILE',
        required: true,
      },
      cancel: oneOf('yes: give the move up; the account stays at the other cell', ['yes', 'no']),
    },
    async run(context, { id: accountId = '', from = '', cancel }) {
      const { takeAccount } = await import('./move-account.ts');
      return takeAccount(context, { accountId, from, isCanceled: cancel === 'yes' });
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
    async run({ database, config }, { user = '' }) {
      const { Tokens } = await import('../../api/access/tokens.ts');
      const { issueTokenPair } = await import('../../core/accounts/sessions/token-pairs.ts');
      const { findAnyUser } = await import('../../core/accounts/actors/users.ts');
      const { id, account_id, role_id, deactivated } = await findAnyUser(database, user);
      if (deactivated) throw new Error(`the user ${id} is deactivated: no token would be accepted`);
      if (role_id === null) throw new Error(`the user ${id} has no role: no token would be accepted`);
      const tokens = await Tokens.open({ database, secret: config.tokenSecret });
      const pair = await issueTokenPair(database, tokens, { accountId: account_id, actorId: id });
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
  'digest list': {
    help: 'List the digests of unseen notifications that wait for mail, the oldest first, without their text',
    options: { limit: LIMIT },
    run: async ({ database }, { limit }) => {
      const readDigests = await ofFeature('waitingDigests');
      return listOf('digest', limit, async (fetch) =>
        (await readDigests(database, fetch)).map(({ actor_id, notification_ids, ...digest }) => ({
          user_id: actor_id,
          notifications: notification_ids.length,
          ...digest,
        })),
      );
    },
  },
  'digest show': {
    help: 'Show the mail that a digest would be now',
    options: { user: USER },
    async run({ database }, { user = '' }) {
      const digest = await (await ofFeature('digestOf'))(database, user);
      const mail = await digest?.write();
      if (mail === undefined) throw new Error(`nothing is to be mailed to the user ${user}`);
      return { object: 'digest_mail', user_id: user, ...mail };
    },
  },
  'audit key': {
    help: 'Show the id and the public key of what signs the audit; makes the key if there is none',
    options: {},
    async run({ config }) {
      const { id, publicKey, trusted } = await signingKey(config);
      return { object: 'audit_key', key_id: id, public_key: publicKey, trusted_key_ids: trusted.ids };
    },
  },
  'export verify': {
    first: 'file',
    help: 'Check an export offline: its signature, every hash, and that nothing was added or is missing',
    options: {
      file: { help: 'path of the downloaded export', value: 'exp_….zip', required: true },
      key: {
        help: 'public key that must have signed it, from "audit key"; if left out, the keys of this deployment',
        value: 'K',
      },
    },
    offline: true,
    async run({ config }, { file = '', key }) {
      const { TrustedKeys } = await import('../../core/audit/signing-key.ts');
      const verifyArchive = await ofFeature('verifyExport');
      const keys = key === undefined ? (await signingKey(config)).trusted : new TrustedKeys([key]);
      return { object: 'verified_export', valid: true, ...(await verifyArchive(file, keys)) };
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
  'import slack': importOf('slack', 'Import the zip file that Slack exports'),
  'import mattermost': importOf('mattermost', 'Import a bulk export of Mattermost: a zip, or its JSONL file'),
  'import zulip': importOf('zulip', 'Import the .tar.gz file that Zulip exports'),
  'import parley': importOf('parley', 'Import an exported conversation of Parley, or a converted archive'),
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

/** Returns the part of a feature that a command uses; loads all features. */
async function ofFeature<Name extends keyof Feature>(name: Name): Promise<NonNullable<Feature[Name]>> {
  await import('../features.ts');
  const { provided } = await import('../../core/features/installed.ts');
  const found = provided(name);
  if (found === undefined) throw new Error('this build has no such feature');
  return found;
}

async function signingKey({ auditKey: key, auditOldKeys: oldKeys, dataDir }: AdminContext['config']) {
  const { SigningKey } = await import('../../core/audit/signing-key.ts');
  return SigningKey.open({ key, oldKeys, dataDir });
}

function inTransaction(run: (tx: Tx, options: Options) => Promise<object>) {
  return ({ database }: AdminContext, options: Options) => database.transaction((tx) => run(tx, options));
}

/** Returns the command that lists what an account has. */
function accountList<Row extends object>(
  help: string,
  object: string,
  load: () => Promise<Pick<KeysetList<[accountId: string], Row>, 'readPage'>>,
): Command<AdminContext> {
  return {
    help,
    options: { account: ACCOUNT, search: SEARCH, limit: LIMIT },
    async run({ database }, { account = '', search, limit }) {
      const { findAccount } = await import('../../core/accounts/account/accounts.ts');
      const list = await load();
      const { id } = await findAccount(database, account);
      return listOf(object, limit, (fetch) => readPage(list, database, id, search, fetch));
    },
  };
}

function importOf(source: ImportSource, help: string): Command<AdminContext> {
  return {
    help: `${help}; run again, it goes on where it stopped`,
    first: 'archive',
    connections: 4,
    options: {
      archive: { help: 'path of the archive', value: 'FILE', required: true },
      account: ACCOUNT,
      'emails-verified': oneOf(
        'yes: the addresses in the archive belong to their persons, so users with the same address are the same persons',
        ['yes', 'no'],
      ),
      'email-domain': { help: 'makes addresses of user names in archives without addresses', value: 'D' },
      'file-token': { help: 'token of the service with which files are fetched', value: 'T' },
      origin: { help: 'name of the server, if the account imports from several of one kind', value: 'N' },
    },
    async run(context, options) {
      const { importArchive } = await import('./import-archive.ts');
      return importArchive(context, source, options);
    },
  };
}

function activation(help: string, isActive: boolean): Command<AdminContext> {
  return {
    help,
    options: { id: USER },
    run: inTransaction(async (tx, { id = '' }) => {
      const { setActive } = await import('../../core/accounts/users/activation.ts');
      return { object: 'user', ...(await setActive(tx, id, isActive)) };
    }),
  };
}

function readPage<Row extends object>(
  list: Pick<KeysetList<[accountId: string], Row>, 'readPage'>,
  database: Database,
  accountId: string,
  search: string | undefined,
  fetch: number,
): Promise<Row[]> {
  const page = { direction: 'next', after: null, fetch, search: search ?? null } as const;
  return list.readPage(database, [accountId], page);
}

/** Reads one row more than it shows, to know whether there are more. */
async function listOf(
  object: string,
  limit = '100',
  read: (fetch: number) => Promise<object[]>,
): Promise<object> {
  const rows = await read(Number(limit) + 1);
  const data = rows.slice(0, Number(limit)).map((row) => ({ object, ...row }));
  return { object: 'list', data, has_more: rows.length > data.length };
}
