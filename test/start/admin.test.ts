import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { isValidApiKey } from '../../src/accounts/keys.ts';
import { runAdmin, UsageError } from '../../src/admin.ts';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/db/database.ts';
import { startEmbeddedPostgres } from '../../src/db/embedded-postgres.ts';
import { createLog } from '../../src/log.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { seedCluster } from '../support/seed-cluster.ts';
import type { Teardown } from '../support/teardown.ts';
import { freshDirectory, runParley } from './parley.ts';

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
  ]);
  const id = String(account.id);

  const key = await admin('key', 'create', '--account', id, '--name', 'CI');
  t.match(key, { object: 'api_key', account_id: id, name: 'CI', expires_at: null, key: /^parley_\w{38}$/ });
  t.notOk('hash' in key);
  t.ok(await isValidApiKey(database.kysely, id, String(key.key)));
  t.equal(await roleTypeOf(String(key.actor_id)), 'admin', 'an admin key unless asked otherwise');

  const expires = new Date(Date.now() + 60_000).toISOString();
  const role = (account.roles as { id: string }[])[2]?.id ?? '';
  const brief = await admin(
    ...['key', 'create', '--account', id, '--name', 'B', '--role', role, '--expires', expires],
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

t.test('what takes a right away leaves word for the nodes in the same transaction', async (t) => {
  const { admin, database } = await open(t);
  const { id } = await admin('account', 'create', '--name', 'Harbor');
  const key = await admin('key', 'create', '--account', String(id), '--name', 'CI');
  t.strictSame(await words(), [], 'giving needs no word');

  const revoked = await admin('key', 'revoke', '--id', String(key.id));
  t.notOk(await isValidApiKey(database.kysely, String(id), String(key.key)));
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

t.test('a wrong command line is told in one line, before anything is opened', async (t) => {
  const config = readConfig({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['', /no command; there are account create, account set/],
    ['account', /no command "account"/],
    ['account destroy', /no command "account destroy"/],
    ['account create', /account create needs --name/],
    ['account create --name=', /--name must be some text/],
    ['account create --name N --plan gold', /--plan must be one of free, pro/],
    ['account create --name N --color red', /--color/],
    ['key create --account a --name N --expires tomorrow', /--expires must be a future time such as/],
    ['key create --account a --name N --expires 2001-01-01T00:00:00Z', /--expires must be a future time/],
    ['key revoke key_1', /key_1/],
    ['user deactivate', /user deactivate needs --id/],
    ['user create --account a --name N --role member --email ann', /--email must be an e-mail address/],
  ];
  for (const [line, message] of wrong) {
    const args = line === '' ? [] : line.split(' ');
    await t.rejects(runAdmin(args, config, log), { name: 'UsageError', message }, line);
  }
  t.ok(new UsageError() instanceof Error);
});

t.test('what does not exist is told', async (t) => {
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
  t.ok(await isValidApiKey(database.kysely, id, JSON.parse(second.stdout).key));
});

async function open(t: Teardown) {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  const config = readConfig({ DATABASE_URL: url });
  const admin = async (...args: string[]) =>
    ({ ...(await runAdmin(args, config, log)) }) as Record<string, unknown>;
  return { database, admin };
}

/** What it rejects with. */
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'it was done',
    (error) => error,
  );
}
