import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import t from 'tap';
import { Tokens } from '../../src/api/access/tokens.ts';
import { type Demo, demoFilePath, readDemoFile, seedDemo, writeDemoFile } from '../../src/app/demo.ts';
import { HOOKS } from '../../src/app/features.ts';
import { isValidApiKey, revokeApiKey } from '../../src/core/accounts/keys/keys.ts';
import { readMailboxOf } from '../../src/core/resources/mailbox.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';

const BASE_URL = 'http://127.0.0.1:8080';

t.test('makes the accounts, people, conversations and agent that demo.json promises', async (t) => {
  const { database, tokens } = await open(t);
  const demo = await seedDemo({ database, tokens, path: demoFilePath(t.testdir()) });
  const { kysely } = database;

  const account = await kysely
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', demo.account_id)
    .executeTakeFirstOrThrow();
  t.equal(account.plan, 'pro');
  t.equal(demo.service_version, '1.4.harbor');

  const permissionsOf = async (actorId: string) => {
    const { type, permissions } = await kysely
      .selectFrom('actors')
      .innerJoin('roles', 'roles.id', 'actors.role_id')
      .select(['roles.type', 'roles.permissions'])
      .where('actors.id', '=', actorId)
      .executeTakeFirstOrThrow();
    return type === 'admin' ? type : permissions.toSorted();
  };
  t.equal(await permissionsOf(demo.users.ada.id), 'admin');
  t.strictSame(await permissionsOf(demo.users.grace.id), [
    'agents:create',
    'agents:read',
    'agents:run',
    'inboxes:read',
    'messaging:create',
    'messaging:read',
    'messaging:update',
  ]);
  t.strictSame(await permissionsOf(demo.users.vera.id), ['messaging:read']);

  const membersOf = async (conversationId: string) => {
    const rows = await kysely
      .selectFrom('participants')
      .select(['actor_id', 'type', 'agent_trigger_policy as policy'])
      .where('conversation_id', '=', conversationId)
      .where('account_id', '=', demo.account_id)
      .execute();
    return rows.map(({ actor_id, type, policy }) => [actor_id, type, policy]).sort();
  };
  const { ada, grace, vera } = demo.users;
  const people = [ada.id, grace.id].map((id) => [id, 'user', null]);
  t.strictSame(
    await membersOf(demo.conversations.group),
    [...people, [vera.id, 'user', null], [demo.agent.actor_id, 'agent', 'mention']].sort(),
  );
  t.strictSame(await membersOf(demo.conversations.direct), people.toSorted());
  const customer = await kysely
    .selectFrom('participants')
    .innerJoin('actors', 'actors.id', 'participants.actor_id')
    .select(['actors.id', 'actors.customer', 'actors.role_id', 'actors.type'])
    .where('participants.id', '=', demo.customer.participant_id)
    .executeTakeFirstOrThrow();
  t.match(customer, { customer: true, role_id: null, type: 'user' });
  t.strictSame(await membersOf(demo.conversations.case), [...people, [customer.id, 'customer', null]].sort());
  const supportCase = await kysely
    .selectFrom('conversations')
    .selectAll()
    .where('id', '=', demo.conversations.case)
    .executeTakeFirstOrThrow();
  t.match(supportCase, { audience: 'customer', type: 'group', workflow_status: 'new' });

  const { inbox } = demo;
  t.match(await readMailboxOf(database, account.id, inbox.id), { address: 'support@demo.example' });
  const bridged = await kysely
    .selectFrom('conversations')
    .selectAll()
    .where('id', '=', inbox.conversation)
    .executeTakeFirstOrThrow();
  t.match(bridged, { audience: 'customer', inbox_id: inbox.id });

  const agent = await kysely
    .selectFrom('agent_definitions')
    .innerJoin('roles', 'roles.id', 'agent_definitions.role_id')
    .select(['actor_id', 'slug', 'trigger_type', 'status', 'tier', 'tools', 'roles.type as role_type'])
    .where('agent_definitions.id', '=', demo.agent.id)
    .executeTakeFirstOrThrow();
  t.strictSame(agent, {
    actor_id: demo.agent.actor_id,
    slug: demo.agent.slug,
    trigger_type: 'chat',
    status: 'active',
    tier: null,
    tools: agent.tools,
    role_type: 'agent',
  });
  t.match(agent.tools, [{ tool: 'create_artifact', review_requirement: 'required' }]);
  t.equal(agent.tools.length, 1);

  t.ok(await isValidApiKey(database, demo.account_id, demo.api_key));
  const { account_id: otherId, api_key: otherKey } = demo.other_account;
  t.ok(await isValidApiKey(database, otherId, otherKey));
  t.notOk(await isValidApiKey(database, demo.account_id, otherKey), 'accounts are walled off');

  const inAbout24h = (ms: number) => Math.abs(ms - Date.now() - 86_400_000) < 60_000;
  for (const user of Object.values(demo.users)) {
    const token = await tokens.verifyAccess(user.access_token);
    t.match(token, { accountId: demo.account_id, actorId: user.id });
    t.ok(inAbout24h(token.expiresAtMs));
  }
  t.match(await tokens.verifyAccess(demo.customer.access_token), { actorId: customer.id });
});

t.test('a second start keeps rows and keys, and issues new tokens', async (t) => {
  const { database, tokens } = await open(t);
  const path = demoFilePath(t.testdir());
  const first = await seedDemo({ database, tokens, path });
  writeDemoFile(path, first, { baseUrl: BASE_URL });
  const second = await seedDemo({ database, tokens, path });
  t.strictSame(withoutTokens(second), withoutTokens(first));
  t.not(second.users.ada.access_token, first.users.ada.access_token);
});

t.test('another start leaves an agent without the tools that were taken away', async (t) => {
  const { database, tokens } = await open(t);
  const path = demoFilePath(t.testdir());
  const { kysely } = database;
  const { agent } = await seedDemo({ database, tokens, path });
  const ofAgent = kysely.selectFrom('agent_definitions').select('tools').where('id', '=', agent.id);
  const toolsOf = async () => (await ofAgent.executeTakeFirstOrThrow()).tools.map(({ tool }) => tool);
  t.strictSame(await toolsOf(), ['create_artifact']);
  await kysely.updateTable('agent_definitions').set({ tools: '[]' }).where('id', '=', agent.id).execute();
  await seedDemo({ database, tokens, path });
  t.strictSame(await toolsOf(), []);
});

t.test('a demo account that its release did not complete is left alone, beside a new one', async (t) => {
  const { database, tokens } = await open(t);
  const path = demoFilePath(t.testdir());
  const first = await seedDemo({ database, tokens, path });
  await database.kysely
    .updateTable('settings')
    .set({ value: sql<string>`(value::jsonb - 'inbox')::text` })
    .where('name', '=', 'demo')
    .execute();
  const second = await seedDemo({ database, tokens, path });
  t.not(second.account_id, first.account_id);
  t.match(second.inbox.address, /^support-\w{8}@demo\.example$/, 'beside one that has its address');
  t.strictSame((await seedDemo({ database, tokens, path })).inbox, second.inbox);
});

t.test('a key that is lost or no longer valid is replaced, the other one stays', async (t) => {
  const { database, tokens } = await open(t);
  const path = demoFilePath(t.testdir());
  const first = await seedDemo({ database, tokens, path });
  const { account_id } = first;
  const lost = await seedDemo({ database, tokens, path });
  t.not(lost.api_key, first.api_key);
  t.ok(await isValidApiKey(database, account_id, lost.api_key));

  writeDemoFile(path, lost, { baseUrl: BASE_URL });
  const { id } = await database.kysely
    .selectFrom('api_keys')
    .select('id')
    .where('redacted', '=', `parley_…${lost.api_key.slice(-4)}`)
    .executeTakeFirstOrThrow();
  await database.transaction((tx) => revokeApiKey(tx, id));
  const revoked = await seedDemo({ database, tokens, path });
  t.not(revoked.api_key, lost.api_key);
  t.ok(await isValidApiKey(database, account_id, revoked.api_key));
  t.equal(revoked.other_account.api_key, lost.other_account.api_key);

  writeFileSync(path, 'no JSON');
  const broken = await seedDemo({ database, tokens, path });
  t.ok(await isValidApiKey(database, account_id, broken.api_key));
});

t.test('two nodes that start at once on an empty database seed one demo account', async (t) => {
  const { url } = await createTestDatabase(t);
  const [a, b] = await Promise.all([open(t, url), open(t, url)]);
  const [one, two] = await Promise.all(
    [a, b].map((node) => seedDemo({ ...node, path: demoFilePath(t.testdir()) })),
  );
  t.equal(one?.account_id, two?.account_id);
  t.strictSame(one?.conversations, two?.conversations);
  const { count } = await a.database.kysely
    .selectFrom('accounts')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  t.equal(count, 2);
});

t.test('the file is private, whole and replaced in one step', async (t) => {
  const { database, tokens } = await open(t);
  const directory = join(t.testdir(), 'not', 'there', 'yet');
  const path = demoFilePath(directory);
  const demo = await seedDemo({ database, tokens, path });
  t.notOk(existsSync(directory), 'seeding writes no file');
  writeDemoFile(path, demo, { baseUrl: BASE_URL });
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.strictSame(JSON.parse(readFileSync(path, 'utf8')), { base_url: BASE_URL, ...demo });
  const { ino } = statSync(path);

  chmodSync(path, 0o644);
  writeDemoFile(path, demo, { baseUrl: 'http://127.0.0.1:9090' });
  t.equal(statSync(path).mode & 0o777, 0o600, 'whatever the file before was');
  t.not(statSync(path).ino, ino);
  t.strictSame(readdirSync(directory), ['demo.json'], 'nothing else is left');
  t.equal(readDemoFile(path)?.base_url, 'http://127.0.0.1:9090');
});

async function open(t: Teardown, url?: string): Promise<{ database: Database; tokens: Tokens }> {
  const database = await openDatabase({
    url: url ?? (await createTestDatabase(t)).url,
    log: createLog('silent'),
    hooks: HOOKS,
  });
  t.teardown(() => database.close());
  return { database, tokens: await Tokens.open({ database }) };
}

function withoutTokens(demo: Demo): unknown {
  return JSON.parse(JSON.stringify(demo, (key, value) => (key === 'access_token' ? undefined : value)));
}
