/** Operators, and that their endpoints do not exist for other callers. */

import type { Installation } from '@parley/protocol/resources/installation.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import type { Token } from '@parley/protocol/resources/token.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { Tokens } from '../../src/api/access/tokens.ts';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { refusalOf, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { demo } = app;
const { ada, grace } = demo.users;
const NEWEST = { 'Service-Version': NEWEST_VERSION };
const PATH = '/v1/installation';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'BREW'];

const log = createLog('silent');
const config = readConfig({ DATABASE_URL: app.databaseUrl });
const paths = new Set(app.routes.flatMap(({ operators, path }) => (operators === undefined ? [] : [path])));

t.test('to all but operators, every path of theirs is like one where nothing is', async (t) => {
  t.strictSame(
    [...paths].sort(),
    ['', '/accounts', '/accounts/:id', '/accounts/:id/identity-providers'].map((path) => PATH + path),
    'each is tried',
  );
  const adas = await signIn(ada.id);
  const callers: Record<string, Record<string, string>> = {
    'no credential': {},
    'no bearer': { Authorization: 'Basic YWRhOngK' },
    nonsense: { Authorization: 'Bearer nonsense' },
    'an admin key': { Authorization: `Bearer ${demo.api_key}` },
    'an admin with a session': { Authorization: `Bearer ${adas.access_token}` },
    'a member': { Authorization: `Bearer ${(await signIn(grace.id)).access_token}` },
    'another account': { Authorization: `Bearer ${demo.other_account.api_key}` },
    'a customer': { Authorization: `Bearer ${demo.customer.access_token}` },
    'an agent': { Authorization: `Bearer ${await app.tokenOf(demo.agent.actor_id)}` },
  };
  const me = await app.call<Me>('GET', '/v1/me', { token: adas.access_token, headers: NEWEST });
  t.match(me.body, { role: { type: 'admin' }, operator: false });
  for (const [who, credential] of Object.entries(callers)) {
    for (const path of paths) {
      const there = path.replace(':id', demo.account_id);
      for (const version of path === PATH ? [NEWEST_VERSION, '1.2.harbor', '0.1'] : [NEWEST_VERSION]) {
        for (const method of METHODS) {
          const [found, missing] = await Promise.all(
            // A path of the same length where nothing is.
            [there, there.replace('/v1/i', '/v1/j')].map((path) =>
              answerTo(path, method, { ...credential, 'Service-Version': version }),
            ),
          );
          t.strictSame(found, missing, `${method} ${path} of ${who} at ${version}`);
          t.equal(found?.status, 404);
        }
      }
    }
  }
});

t.test('a command names operators, and their sessions see the installation at once', async (t) => {
  const other = ['operator', 'add', ada.id, '--account', demo.other_account.account_id];
  t.match(await refused(...other), /has no user/, 'the account is checked');
  const { access_token: token } = await signIn(ada.id);
  t.equal(await statusWith(token), 404);
  const added = await admin('operator', 'add', ada.id, '--account', demo.account_id);
  t.match(added, { object: 'operator', user_id: ada.id, account_id: demo.account_id });
  t.strictSame(await admin('operator', 'add', ada.id, '--account', demo.account_id), added, 'again');
  await until(async () => (await statusWith(token)) === 200, { what: 'the session is of an operator' });
  t.match(await admin('operator', 'list'), { data: [{ object: 'operator', user_id: ada.id }] });
  const { body } = await app.call<Me>('GET', '/v1/me', { token, headers: NEWEST });
  t.equal(body.operator, true);
  const older = { token, headers: { 'Service-Version': '1.2.harbor' } };
  t.notMatch((await app.call('GET', '/v1/me', older)).text, 'operator', 'of 1.3');

  const accounts = await answerTo(`${PATH}/accounts`, 'GET', { Authorization: `Bearer ${token}`, ...NEWEST });
  t.equal(accounts.status, 404, 'accounts are for keys of operators');

  t.equal(await statusWith(await exchanged(ada.id)), 404, 'the token of an identity provider');
  t.equal(await statusWith(demo.api_key), 404, 'a key');
  t.equal(await statusWith((await signIn(grace.id)).access_token), 404, 'another user of the account');

  await admin('operator', 'remove', ada.id);
  await until(async () => (await statusWith(token)) === 404, { what: 'it is not any more' });
  t.match(await refused('operator', 'remove', ada.id), /is no operator/);
  t.match(await admin('operator', 'list'), { data: [] });
  t.match(await actionsOf(ada.id), ['operator.removed', 'operator.added']);
});

t.test('an operator meets the usual refusals', async (t) => {
  await admin('operator', 'add', ada.id, '--account', demo.account_id);
  const { access_token: token } = await signIn(ada.id);
  const refusal = async (method: string, headers: Record<string, string | undefined>, query = '') =>
    refusalOf(await app.call(method, PATH + query, { token, headers: { ...NEWEST, ...headers } }));
  t.equal(await refusal('POST', {}), '405 method_not_allowed null');
  t.equal(
    await refusal('GET', { 'Service-Version': '1.2.harbor' }),
    '400 api_version_too_old Service-Version',
  );
  t.equal(await refusal('GET', { 'Service-Account': undefined }), '400 parameter_missing Service-Account');
  t.match(await refusal('GET', {}, '?history_seconds=601'), /^4\d\d \w+ history_seconds$/);
  t.match(await refusal('GET', {}, '?nodes=1'), /^400 parameter_unknown nodes$/);
});

t.test('deactivation and erasure end it', async (t) => {
  const { body: role } = await app.call<{ data: { id: string; name: string }[] }>('GET', '/v1/roles', {
    headers: NEWEST,
  });
  const roleId = role.data.find(({ name }) => name === 'member')!.id;
  for (const [end, action, endBody] of [
    ['deactivated', 'deactivate', {}],
    ['erased', 'erase', { messages: 'keep' }],
  ] as const) {
    const { body: user } = await app.call<{ id: string }>('POST', '/v1/users', {
      body: { name: 'Op', email: `${end}@example.com`, role_id: roleId },
      headers: NEWEST,
    });
    t.match(await admin('operator', 'add', user.id, '--account', demo.account_id), { user_id: user.id });
    const { access_token: token } = await signIn(user.id);
    await until(async () => (await statusWith(token)) === 200, { what: 'an operator' });
    const path = `/v1/users/${user.id}/actions/${action}`;
    const ended = await app.call('POST', path, { body: endBody, headers: NEWEST });
    t.ok(ended.status < 300, `${end}: ${ended.text}`);
    await until(async () => (await statusWith(token)) === 404, { what: end });
    t.notMatch(await admin('operator', 'list'), { data: [{ user_id: user.id }] });
    t.match(
      await refused('operator', 'add', user.id, '--account', demo.account_id),
      /cannot sign in/,
      `a user that is ${end}`,
    );
  }
});

t.test('tools of agents do not offer it', async (t) => {
  const { body } = await app.call<{ data: { slug: string }[] }>('GET', '/v1/ai/tools', { headers: NEWEST });
  t.ok(body.data.length > 0);
  t.notOk(body.data.some(({ slug }) => slug.includes('installation')));
});

t.test('one node without Redis: its figures count what it does', async (t) => {
  await admin('operator', 'add', ada.id, '--account', demo.account_id);
  const { access_token: token } = await signIn(ada.id);
  const read = async () => {
    const { body } = await app.call<Installation>('GET', `${PATH}?history_seconds=60`, {
      token,
      headers: NEWEST,
    });
    return body;
  };
  await until(async () => ((await read()).nodes?.[0]?.figures.length ?? 0) >= 2, { what: 'figures' });
  const group = `/v1/messaging/conversations/${demo.conversations.group}/messages`;
  await until(
    async () => {
      await app.call('POST', group, { body: { body: 'ahoy', client_message_id: crypto.randomUUID() } });
      return (await read()).nodes[0]?.figures.some(({ sends_per_second: sends }) => sends > 0);
    },
    { what: 'the sends are counted' },
  );
  const { nodes, checks } = await read();
  const [node] = nodes;
  t.equal(nodes.length, 1);
  t.match(node, { state: 'up', answers: true, redis: null, postgres: 'up', files: 'up' });
  const sending = node!.figures.find(({ send_p99_ms: p99 }) => p99 !== null)!;
  t.ok(sending.send_p50_ms! > 0 && sending.send_p50_ms! <= sending.send_p99_ms!);
  t.ok(sending.memory_bytes > 1e7);
  t.ok(
    node!.figures.every(({ at }, index, all) => index === 0 || at > all[index - 1]!.at),
    'oldest first',
  );
  t.strictSame(
    checks.map(({ name, state }) => [name, state]),
    ['postgres', 'redis', 'jobs', 'files', 'imports', 'mail', 'search', 'push', 'webhooks'].map((name) => [
      name,
      'ok',
    ]),
  );
  const { body } = await app.call<Installation>('GET', PATH, { token, headers: NEWEST });
  t.strictSame(body.nodes[0]?.figures, [], 'no history unless it is asked for');
  for (const { docs_url: url } of checks) {
    const [page, section] = url.split('#');
    const text = await (await fetch(page!)).text();
    t.ok(text.includes(`id="${section}"`), url);
  }
});

async function signIn(userId: string): Promise<Token> {
  const { body } = await app.call<Token>('POST', '/v1/auth/tokens', { body: { user_id: userId } });
  return body;
}

/** Returns what the token of an identity provider of the account is exchanged for. */
async function exchanged(actorId: string): Promise<string> {
  const { body } = await app.call<{ id: string }>('POST', '/v1/identity-providers', {
    body: {
      name: 'Login',
      issuer: 'https://login.example.com',
      audience: 'chat',
      jwks_url: 'https://login.example.com/keys',
    },
    headers: NEWEST,
  });
  const { id, revision } = await app.database.kysely
    .selectFrom('identity_providers')
    .select(['id', 'revision'])
    .where('id', '=', body.id)
    .executeTakeFirstOrThrow();
  const tokens = await Tokens.open({ database: app.database });
  const provider = { id, revision };
  const { token } = await tokens.issueAccess({ accountId: demo.account_id, actorId, provider });
  const me = await app.call('GET', '/v1/me', { token, headers: NEWEST });
  t.equal(me.status, 200, me.text);
  return token;
}

async function statusWith(token: string): Promise<number> {
  return (await app.call('GET', PATH, { token, headers: NEWEST })).status;
}

async function answerTo(path: string, method: string, headers: Record<string, string>) {
  const response = await fetch(app.baseUrl + path, {
    method,
    headers: { 'Service-Account': demo.account_id, ...headers },
  });
  const without = [...response.headers].filter(([name]) => name !== 'date' && name !== 'request-id');
  const id = response.headers.get('Request-Id') ?? 'none';
  const text = (await response.text()).replaceAll(id, 'ID');
  return { status: response.status, headers: Object.fromEntries(without), text };
}

async function actionsOf(userId: string): Promise<string[]> {
  const { body } = await app.call<{ data: { action: string; details: { user_id?: string } }[] }>(
    'GET',
    '/v1/account/audit',
    { headers: NEWEST },
  );
  return body.data.flatMap(({ action, details }) => (details.user_id === userId ? [action] : []));
}

async function admin(...args: string[]) {
  return { ...(await runAdmin(args, config, log)) };
}

async function refused(...args: string[]): Promise<string> {
  return admin(...args).then(
    () => 'it was done',
    ({ message }: Error) => message,
  );
}
