import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import { PLANS, SUBSCRIPTIONS } from '@parley/protocol/resources/account.ts';
import t from 'tap';
import { Tokens } from '../../src/api/access/tokens.ts';
import { parseCommand, usageOf } from '../../src/app/admin/command-line.ts';
import { COMMANDS } from '../../src/app/admin/commands.ts';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { isValidApiKey } from '../../src/core/accounts/keys/keys.ts';
import { refreshTokenPair } from '../../src/core/accounts/sessions/token-pairs.ts';
import { UsageError } from '../../src/core/features/command.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import { seedCluster } from '../support/seed-cluster.ts';
import type { Teardown } from '../support/teardown.ts';
import { freshDirectory, PARLEY, runParley, runProgram } from './parley.ts';

const log = createLog('silent');

t.test('a deployment gets its first account, key and user', async (t) => {
  const { admin, database } = await open(t);
  const account = await admin('account', 'create', '--name', 'Harbor', '--plan', 'pro');
  t.match(account, { object: 'account', name: 'Harbor', plan: 'pro', subscription: 'active' });
  t.match(account.roles, [
    { name: 'admin', type: 'admin' },
    { name: 'member', type: 'user' },
    { name: 'viewer', type: 'user' },
    { name: 'agent', type: 'agent' },
    { name: 'scanner', type: 'scanner' },
    { name: 'sales_rep', type: 'sales_rep' },
  ]);
  const id = String(account.id);
  const listed = await admin('role', 'list', '--account', id);
  const named = ({ name }: { name: string }) => name;
  const names = (account.roles as { name: string }[]).map(named);
  t.same(
    names.toSorted(),
    (listed.data as { name: string }[]).map(named).toSorted(),
    'all of them are shown',
  );
  const { help } = COMMANDS['account create']!;
  t.ok(help.endsWith(`the roles ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`), help);

  const key = await admin('key', 'create', '--account', id, '--name', 'CI');
  t.match(key, { object: 'api_key', account_id: id, name: 'CI', expires_at: null, key: /^parley_\w{38}$/ });
  t.notOk('hash' in key);
  t.ok(await isValidApiKey(database, id, String(key.key)));
  t.equal(await roleTypeOf(String(key.actor_id)), 'admin', 'an admin key unless asked otherwise');

  const expires = new Date(Date.now() + 60_000).toISOString();
  const role = (account.roles as { id: string }[])[2]?.id ?? '';
  const brief = await admin(
    'key',
    'create',
    '--account',
    id,
    '--name',
    'B',
    '--role',
    role,
    '--expires',
    expires,
  );
  t.equal(Date.parse(String(brief.expires_at)), Date.parse(expires));
  t.equal(brief.role_id, role, 'a role by its id');

  const ann = [
    'user',
    'create',
    '--account',
    id,
    '--name',
    'Ann',
    '--email',
    'Ann@Example.com',
    '--role',
    'member',
  ];
  const user = await admin(...ann);
  t.match(user, { object: 'user', name: 'Ann', email: 'ann@example.com' });
  const actor = await database.kysely
    .selectFrom('actors')
    .selectAll()
    .where('id', '=', String(user.id))
    .executeTakeFirstOrThrow();
  t.match(actor, { type: 'user', handle: 'ann@example.com', role_id: user.role_id, account_id: id });
  t.match(await refusal(admin(...ann)), { condition: 'resource_exists', param: 'email' });
  t.equal(await countOf('actors', 'Ann'), 1, 'nothing is left of what failed');

  async function roleTypeOf(actorId: string) {
    const { type } = await database.kysely
      .selectFrom('actors')
      .innerJoin('roles', 'roles.id', 'actors.role_id')
      .select('roles.type')
      .where('actors.id', '=', actorId)
      .executeTakeFirstOrThrow();
    return type;
  }
  async function countOf(table: 'actors', name: string) {
    return (await database.kysely.selectFrom(table).select('id').where('name', '=', name).execute()).length;
  }
});

t.test('a command that revokes a right writes the outbox row in the same transaction', async (t) => {
  const { admin, database } = await open(t);
  const { id } = await admin('account', 'create', '--name', 'Harbor');
  const key = await admin('key', 'create', '--account', String(id), '--name', 'CI');
  t.strictSame(await words(), [], 'giving needs no word');

  const revoked = await admin('key', 'revoke', '--id', String(key.id));
  t.notOk(await isValidApiKey(database, String(id), String(key.key)));
  t.notOk('key' in revoked);
  const again = await admin('key', 'revoke', '--id', String(key.id));
  t.equal(again.revoked_at, revoked.revoked_at, 'revoking twice is revoking once');

  const user = ['--account', String(id), '--name', 'Ann', '--email', 'ann@example.com', '--role', 'member'];
  const ann = await admin('user', 'create', ...user);
  const gone = await admin('user', 'deactivate', '--id', String(ann.id));
  t.strictSame(gone, { ...ann, deactivated: true, updated_at: gone.updated_at });
  t.ok(String(gone.updated_at) > String(ann.updated_at));
  t.strictSame(await admin('user', 'deactivate', '--id', String(ann.id)), gone, 'twice is once');

  const closed = await admin('account', 'set', '--id', String(id), '--subscription', 'inactive');
  t.match(closed, { plan: 'free', subscription: 'inactive' });
  const subjects = { subjects: [key.id, key.actor_id] };
  const ofAnn = { subjects: [ann.id] };
  t.strictSame(await words(), [subjects, subjects, ofAnn, ofAnn, { subjects: [id] }]);

  async function words() {
    const rows = await database.kysely
      .selectFrom('outbox')
      .select('payload')
      .where('topic', '=', 'rights.changed')
      .orderBy('id')
      .execute();
    return rows.map(({ payload }) => payload);
  }
});

t.test('existing objects can be listed and shown', async (t) => {
  const { admin } = await open(t);
  const harbor = await admin('account', 'create', '--name', 'Harbor', '--plan', 'pro');
  const id = String(harbor.id);
  const other = await admin('account', 'create', '--name', '100%');
  const key = await admin('key', 'create', '--account', id, '--name', 'CI');
  const old = await admin('key', 'create', '--account', id, '--name', 'Old');
  await admin('key', 'revoke', '--id', String(old.id));
  const user = async (name: string) => {
    const words = ['--name', name, '--email', `${name}@example.com`, '--role', 'member'];
    return admin('user', 'create', '--account', id, ...words);
  };
  const ann = await user('ann');
  const bob = await user('bob');
  await admin('user', 'deactivate', '--id', String(bob.id));

  const accounts = await admin('account', 'list');
  t.match(accounts, { object: 'list', has_more: false });
  t.strictSame(idsOf(accounts), [other.id, id], 'newest first');
  t.strictSame(idsOf(await admin('account', 'list', '--search', '0%')), [other.id], 'a text, not a pattern');
  const first = await admin('account', 'list', '--limit', '1');
  t.strictSame([idsOf(first), first.has_more], [[other.id], true]);
  t.match(await admin('account', 'show', '--id', id), {
    object: 'account',
    name: 'Harbor',
    plan: 'pro',
    active_users: 1,
    active_keys: 1,
    roles: Array.from({ length: 4 }, () => ({ id: /^rol_/, name: String })),
  });

  const keys = await admin('key', 'list', '--account', id);
  t.strictSame(idsOf(keys), [old.id, key.id]);
  t.match(keys.data, [
    { object: 'api_key', status: 'revoked' },
    { name: 'CI', status: 'active', role_id: /^rol_/ },
  ]);
  t.notMatch(JSON.stringify(keys), /"hash"|"key"/, 'without what opens the account');
  t.strictSame(idsOf(await admin('key', 'list', '--account', id, '--search', 'ci')), [key.id]);

  t.strictSame(idsOf(await admin('user', 'list', '--account', id)), [bob.id, ann.id]);
  t.match(await admin('user', 'show', '--id', String(bob.id)), {
    object: 'user',
    name: 'bob',
    deactivated: true,
  });
  const roles = await admin('role', 'list', '--account', id);
  t.match(roles.data, [{}, { name: 'viewer', permissions: ['messaging:read'] }, {}, {}]);
  t.strictSame(idsOf(await admin('user', 'list', '--account', String(other.id))), [], "no other account's");

  function idsOf({ data }: Record<string, unknown>) {
    return (data as { id: string }[]).map(({ id }) => id);
  }
});

t.test('tokens of a user, which the nodes accept', async (t) => {
  const { admin, database } = await open(t);
  const { id } = await admin('account', 'create', '--name', 'Harbor');
  const words = ['--account', String(id), '--name', 'Ann', '--email', 'ann@example.com', '--role', 'member'];
  const ann = await admin('user', 'create', ...words);
  const pair = await admin('token', 'create', '--user', String(ann.id));
  t.match(pair, { object: 'token', user_id: ann.id, account_id: id, expires_at: String });
  const tokens = await Tokens.open({ database });
  t.match(await tokens.verifyAccess(String(pair.access_token)), { accountId: id, actorId: ann.id });
  const next = await refreshTokenPair(database, tokens, String(pair.refresh_token), async (_, pair) => pair);
  t.match(await tokens.verifyAccess(next.access_token), { actorId: ann.id });

  await admin('user', 'deactivate', '--id', String(ann.id));
  t.match(await refusal(admin('token', 'create', '--user', String(ann.id))), { message: /is deactivated/ });
  t.match(await refusal(admin('token', 'create', '--user', 'act_none')), { condition: 'resource_not_found' });
});

t.test('migrate brings an empty database to the schema of this version, twice as well as once', async (t) => {
  const { url } = await startPostgres(t);
  const config = readConfig({ DATABASE_URL: url });
  const first = await runAdmin(['migrate'], config, log);
  t.match(first, { object: 'database', server_version: /^\d+/, migration: /^\d{4}_\w+$/ });
  t.strictSame(await runAdmin(['migrate'], config, log), first);
  t.match(await runAdmin(['account', 'list'], config, log), { data: [] });
});

t.test('help has a line for every command and every option', async (t) => {
  const all = await runParley(['admin', '--help'], { PORT: 'not read for help' });
  t.match(all, { code: 0, stderr: '' });
  for (const [name, { help, options }] of Object.entries(COMMANDS)) {
    t.match(help, /^[A-Z].{10,110}[^.]$/, `${name} has a description`);
    t.match(all.stdout, new RegExp(`^  ${name} +${help.replace(/[()]/g, '.')}$`, 'm'));
    const usage = usageOf(COMMANDS, 'parley', [...name.split(' '), '--help']);
    t.match(usage, `usage: parley ${name}`);
    for (const [option, { help }] of Object.entries(options))
      t.match(usage, new RegExp(`^  --${option} +${help.slice(0, 12)}`, 'm'));
  }
  t.match(usageOf(COMMANDS, 'parley', ['key', '-h']), /key create[\s\S]*key list[\s\S]*key revoke/);
  t.notMatch(usageOf(COMMANDS, 'parley', ['key', '-h']), 'user create', 'the commands of that word alone');
  const ofKeys = usageOf(COMMANDS, 'parley', ['operator', 'key', '--help']);
  t.match(ofKeys, /operator key create[\s\S]*operator key list[\s\S]*operator key revoke/);
  t.notMatch(ofKeys, 'operator add', 'also of two words');
  for (const help of [['help'], ['help', 'key', 'create']]) {
    const asked = await runParley(['admin', ...help], {});
    t.same(asked, await runParley(['admin', ...help.slice(1), '--help'], {}), help.join(' '));
  }
  t.match(
    usageOf(COMMANDS, 'parley', ['export', 'verify', '-h']),
    'export verify [--file] exp_….zip [--key K]',
  );
  t.match(await runParley(['--help'], {}), { code: 0, stdout: /start[\s\S]*admin[\s\S]*tail/ });
  t.strictSame(
    [COMMANDS['account create']?.options.plan?.value, COMMANDS['account set']?.options.subscription?.value],
    [PLANS.join('|'), SUBSCRIPTIONS.join('|')],
    'every value of the API',
  );
});

t.test('a command loads only what it needs', async (t) => {
  const { url } = await createTestDatabase(t);
  const loaded = async (...args: string[]) => {
    const spy = `import { registerHooks } from 'node:module';
      const seen = [];
      registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
      process.on('exit', () => process.stderr.write(seen.join('\\n')));`;
    const [node, ...rest] = PARLEY;
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(spy)}`];
    return runProgram(node, [...flags, ...rest, 'admin', ...args], { DATABASE_URL: url });
  };
  const wrong = await loaded('key', 'destroy');
  t.notMatch(wrong.stderr, /node_modules\/(pg|kysely)\/|src\/db\//, 'a wrong command line needs no database');
  const list = await loaded('account', 'list');
  t.equal(list.code, 0, list.stderr);
  t.match(list.stderr, /node_modules\/pg\//);
  t.notMatch(list.stderr, /node_modules\/(ioredis|uWebSockets|ai|@ai-sdk|@aws-sdk|prom-client)\//);
});

t.test('an invalid command line gets an error of one line, before anything is opened', async (t) => {
  const config = readConfig({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['', /no command; there are account create, account delete/],
    ['account', /no command "account"/],
    ['account destroy', /no command "account destroy"/],
    ['acount list', /no command "acount list"; did you mean "account list"\?/],
    ['key list --acount a', /key list has no --acount; did you mean --account\?/],
    ['account list --limit 0', /--limit must be a whole number from 1 to 10000/],
    ['migrate now', /no command "migrate now"/],
    ['account create', /account create needs --name/],
    ['account create --name=', /--name must be some text/],
    ['account create --name N --plan gold', /--plan must be one of free, pro/],
    ['account create --name N --color red', /account create has no --color; it has --name, --plan/],
    ['key create --account a --name N --expires tomorrow', /--expires must be a future time such as/],
    ['key create --account a --name N --expires 2001-01-01T00:00:00Z', /--expires must be a future time/],
    [
      'key revoke key_1',
      /key revoke takes no "key_1" without the name of an option; did you mean --id key_1\?/,
    ],
    ['export verify one.zip two.zip', /export verify takes no "one.zip" without the name of an option/],
    ['export verify one.zip --file two.zip', /export verify takes no "one.zip" without/],
    ['account create --plan pro Harbor', /takes no "Harbor" without .*; did you mean --name Harbor\?/],
    ['account create --name=Harbor pro', /takes no "pro" without .*; its options are --name, --plan/],
    ['user deactivate', /user deactivate needs --id/],
    ['user create --account a --name N --role member --email ann', /--email must be an e-mail address/],
  ];
  for (const [line, message] of wrong) {
    const args = line === '' ? [] : line.split(' ');
    await t.rejects(runAdmin(args, config, log), { name: 'UsageError', message }, line);
  }
  t.ok(new UsageError() instanceof Error);
});

t.test('the one value that a command cannot do without may stand without its name', async (t) => {
  for (const args of [
    ['verify', 'one.zip'],
    ['verify', '--file', 'one.zip'],
    ['verify', '--key', 'K', 'one.zip'],
  ]) {
    const { options } = parseCommand(COMMANDS, ['export', ...args]);
    t.equal(options.file, 'one.zip', args.join(' '));
  }
  t.equal(parseCommand(COMMANDS, ['audit', 'verify', 'audit.jsonl']).options.file, 'audit.jsonl');
});

t.test('missing objects get an error', async (t) => {
  const { admin } = await open(t);
  const { id } = await admin('account', 'create', '--name', 'Harbor');
  const missing = { condition: 'resource_not_found' };
  t.match(await refusal(admin('account', 'set', '--id', 'acc_none', '--plan', 'pro')), missing);
  t.match(await refusal(admin('key', 'create', '--account', 'acc_none', '--name', 'N')), missing);
  t.match(
    await refusal(admin('key', 'create', '--account', String(id), '--name', 'N', '--role', 'king')),
    missing,
  );
  t.match(await refusal(admin('key', 'revoke', '--id', 'key_none')), missing);
  t.match(await refusal(admin('user', 'deactivate', '--id', 'act_none')), missing);
  const { roles } = await admin('account', 'create', '--name', 'Neighbour');
  const [theirs] = roles as { id: string }[];
  t.match(
    await refusal(
      admin('key', 'create', '--account', String(id), '--name', 'N', '--role', String(theirs?.id)),
    ),
    missing,
    "another account's role",
  );
});

t.test('the command itself: JSON and 0, one line and 1, one line and 2', async (t) => {
  const { url } = await createTestDatabase(t);
  const env = { DATABASE_URL: url };
  const [good, missing, wrong, unreachable] = await Promise.all([
    runParley(['admin', 'account', 'create', '--name', 'Harbor'], env),
    runParley(['admin', 'key', 'revoke', '--id', 'key_none'], env),
    runParley(['admin', 'key', 'destroy'], env),
    runParley(['admin', 'account', 'create', '--name', 'Harbor'], {
      DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x',
    }),
  ]);
  t.match(good, { code: 0, stderr: '' });
  t.match(JSON.parse(good.stdout), { object: 'account', name: 'Harbor' });
  t.match(missing, { code: 1, stdout: '', stderr: /^parley: There is no API key key_none\.\n$/ });
  t.match(wrong, { code: 2, stdout: '', stderr: /^parley: no command "key destroy".*\n$/ });
  t.match(unreachable, {
    code: 1,
    stdout: '',
    stderr: /^parley: cannot reach Postgres at 127\.0\.0\.1:1.*\n$/,
  });
  t.notMatch(unreachable.stderr, 'hunter2');
});

t.test('without DATABASE_URL it uses the embedded Postgres, running or not', async (t) => {
  const dataDir = freshDirectory(t);
  // Postgres runs as another user when we are root: it has to pass through.
  chmodSync(dataDir, 0o711);
  await seedCluster(dataDir);
  const env = { PARLEY_DATA_DIR: dataDir };
  const first = await runParley(['admin', 'account', 'create', '--name', 'Before the first start'], env);
  t.match(first, { code: 0, stderr: '' });
  t.notOk(existsSync(join(dataDir, 'postgres.owner')), 'what it started is stopped');

  const postgres = await startEmbeddedPostgres({ dataDir, durable: false, log });
  t.teardown(() => postgres.stop());
  const { id } = JSON.parse(first.stdout);
  const second = await runParley(['admin', 'key', 'create', '--account', id, '--name', 'While it runs'], env);
  t.match(second, { code: 0, stderr: '' });
  const database = await openDatabase({ url: postgres.url, log });
  t.teardown(() => database.close());
  t.ok(await isValidApiKey(database, id, JSON.parse(second.stdout).key));
});

t.test('a list of Redis is put to use where several are possible', async (t) => {
  for (const [environment, reason] of [
    [{}, 'redis use needs REDIS_URL'],
    [
      { REDIS_URL: 'redis+cluster://127.0.0.1:1,127.0.0.1:2' },
      'a Redis Cluster says itself which servers it has',
    ],
  ] as const) {
    const { admin, database } = await open(t, environment);
    const refused = await refusal(admin('redis', 'use'));
    t.type(refused, UsageError);
    t.match(refused, { message: reason });
    t.strictSame(await database.kysely.selectFrom('settings').where('name', '=', 'redis_list').execute(), []);
  }
});

async function open(t: Teardown, environment: Readonly<Record<string, string>> = {}) {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  const config = readConfig({ DATABASE_URL: url, ...environment });
  const admin = async (...args: string[]) =>
    ({ ...(await runAdmin(args, config, log)) }) as Record<string, unknown>;
  return { database, admin };
}

/** Returns its rejection. */
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'it was done',
    (error) => error,
  );
}
