/** Who may enter /mcp, and what the others are answered. */

import { request } from 'node:http';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { AUDIENCE, provide } from '../identity/fixture.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { until } from '../support/until.ts';
import { connect, modern, post, refusalIn } from './clients.ts';

const PAGE = 'https://assistant.example.com';
const app = await startTestApp(t, {
  PARLEY_FETCH_ALLOW: '127.0.0.1',
  PARLEY_ALLOWED_ORIGINS: PAGE,
  PARLEY_SOCKET_SOCKETS_PER_ACTOR: '1',
});
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const url = `${app.baseUrl}/mcp`;
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const ours = { Authorization: `Bearer ${demo.api_key}` };

t.test('a caller without a credential learns where to get one', async (t) => {
  const none = await post(url, LIST);
  t.strictSame([none.status, none.headers.get('www-authenticate')], [401, 'Bearer']);
  t.match(JSON.parse(none.text), {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_000, data: { code: 'invalid_credentials' } },
  });
  const wrong = await post(url, LIST, { Authorization: 'Bearer parley_of_nobody' });
  t.strictSame([wrong.status, wrong.headers.get('www-authenticate')], [401, 'Bearer']);

  const path = `/.well-known/oauth-protected-resource/mcp/${demo.account_id}`;
  t.equal((await fetch(app.baseUrl + path)).status, 404, 'there is no identity provider');
  const issuer = await TokenIssuer.start(t);
  const role = await database.transaction((tx) =>
    createRole(tx, { accountId: demo.account_id, name: 'Provided', permissions: ['messaging:read'] }),
  );
  await provide(app, issuer, { provision: 'first_use', role_id: role.id });

  const place = `${url}/${demo.account_id}`;
  const led = await post(place, LIST);
  t.strictSame(
    [led.status, led.headers.get('www-authenticate')],
    [401, `Bearer resource_metadata="${app.baseUrl}${path}"`],
  );
  const document = await fetch(app.baseUrl + path);
  t.equal(document.headers.get('access-control-allow-origin'), '*');
  t.strictSame(await document.json(), {
    resource: place,
    authorization_servers: [issuer.origin],
    bearer_methods_supported: ['header'],
    resource_name: 'Parley',
  });
  const late = issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub: 'u-1', exp: 1_000_000_000 });
  const expired = await post(place, LIST, { Authorization: `Bearer ${late}` });
  t.match(expired.headers.get('www-authenticate'), /error="invalid_token"$/);
  const foreign = issuer.token({ iss: issuer.origin, aud: 'https://another.example', sub: 'u-1' });
  t.equal((await post(place, LIST, { Authorization: `Bearer ${foreign}` })).status, 401, 'audience');

  const token = issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub: 'u-1' });
  const client = await connect(t, { url: place, token });
  t.match(await client.callTool({ name: 'get-me', arguments: {} }), {
    structuredContent: { permissions: ['messaging:read'] },
  });
  const names = (await client.listTools()).tools.map(({ name }) => name);
  t.ok(names.includes('list-messages'));
  t.notOk(names.includes('send-message'), 'the role may not send');
  await t.rejects(client.callTool({ name: 'send-message', arguments: {} }), /Unknown tool/);
  const placeless = await post(url, LIST, { Authorization: `Bearer ${token}` });
  t.match(JSON.parse(placeless.text), { error: { data: { code: 'parameter_missing' } } });
});

t.test('rights are those of the moment, as over REST', async (t) => {
  const { call } = callsAt(app, NEWEST_VERSION);
  const role = await database.transaction((tx) =>
    createRole(tx, {
      accountId: demo.account_id,
      name: 'Sender',
      permissions: ['messaging:read', 'messaging:create'],
    }),
  );
  const key = await call<{ id: string; key: string }>('POST', '/v1/api-keys', {
    body: { name: 'Assistant', role_id: role.id },
  });
  t.equal(key.status, 201, key.text);
  const client = await connect(t, { url, token: key.body.key });
  t.notMatch(await client.callTool({ name: 'list-conversations', arguments: {} }), { isError: true });
  t.equal((await call('POST', `/v1/api-keys/${key.body.id}/actions/revoke`)).status, 200);
  t.equal((await modern(url, key.body.key, 'tools/list')).status, 401, 'a revoked key');
});

t.test('nothing of another account', async (t) => {
  const { api_key, account_id } = demo.other_account;
  const client = await connect(t, { url, token: api_key });
  for (const id of Object.values(demo.conversations)) {
    const read = await client.callTool({ name: 'get-conversation', arguments: { path: { id } } });
    t.equal(refusalIn(read), 'resource_not_found id');
    await t.rejects(client.readResource({ uri: `parley://conversations/${id}` }), /no such conversation/);
  }
  const named = await modern(`${url}/${demo.account_id}`, api_key, 'tools/list');
  t.equal(named.status, 404);
  t.equal((await modern(`${url}/${account_id}`, api_key, 'tools/list')).status, 200);
});

t.test('customers and agents have the tools of their endpoints', async (t) => {
  const customer = await connect(t, { url, token: demo.customer.access_token });
  const { tools } = await customer.listTools();
  const names = tools.map(({ name }) => name);
  t.ok(names.includes('send-message'));
  t.strictSame(
    names.filter((name) => name.includes('run') || name.includes('draft-') || name === 'list-people'),
    [],
  );
  const agent = await connect(t, { url, token: await app.tokenOf(demo.agent.actor_id) });
  const agents = (await agent.listTools()).tools.map(({ name }) => name);
  t.notOk(agents.includes('continue-agent-run'), 'no agent approves');
});

t.test('pages of foreign origins are refused, before their credential is read', async (t) => {
  const foreign = await post(url, LIST, { Origin: 'https://evil.example.com' });
  t.equal(foreign.status, 403);
  t.equal(await statusOfRebound(), 403, 'a name that leads here');
  const page = await post(url, LIST, { Origin: PAGE, ...ours });
  t.strictSame([page.status, page.headers.get('access-control-allow-origin')], [200, PAGE]);
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: { Origin: PAGE, 'Access-Control-Request-Method': 'POST' },
  });
  t.equal(preflight.status, 204);
  t.match(preflight.headers.get('access-control-allow-headers'), /Mcp-Method/);
});

t.test('requests that are none', async (t) => {
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const answer = await fetch(url, { method, headers: ours });
    t.strictSame([answer.status, answer.headers.get('allow')], [405, 'POST, OPTIONS'], method);
  }
  t.equal((await post(url, '{', ours)).status, 400);
  const huge = await post(url, JSON.stringify({ ...LIST, params: { filler: 'x'.repeat(2 ** 21) } }), ours);
  t.match(JSON.parse(huge.text), { error: { data: { message: /larger than/ } } });
  t.equal(huge.status, 413);
  const batch = await post(url, Array(21).fill(LIST), ours);
  t.equal(batch.status, 413);
  const { status, text } = await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, ours);
  t.strictSame([status, text], [202, '']);
  const unknown = await modern(url, demo.api_key, 'prompts/list');
  t.strictSame([unknown.status, JSON.parse(unknown.text).error.code], [404, -32_601]);
  const unlike = await post(
    url,
    { ...LIST, params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } },
    { ...ours, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call' },
  );
  t.equal(unlike.status, 400);
});

// A client that polled counts for a while longer, so each revision has its own.
for (const [revision, waiter, leaver] of [
  ['2026-07-28', grace, ada],
  ['2025-11-25', vera, demo.customer],
] as const) {
  t.test(`a poll waits for what happens, and ends with its request, at ${revision}`, async (t) => {
    const poll = (token: string, args: object, signal?: AbortSignal) => {
      const params = { name: 'poll-realtime', arguments: args };
      if (revision === '2026-07-28') return modern(url, token, 'tools/call', params, {}, signal);
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      return post(url, message, { Authorization: `Bearer ${token}` }, signal);
    };
    const { group } = demo.conversations;
    const waiting = poll(waiter.access_token, { body: { subscribe: [{ conversation_id: group }] } });
    let hasEnded = false;
    void waiting.then(() => {
      hasEnded = true;
    });
    const refusedPoll = async () => {
      const { text } = await poll(leaver.access_token, { body: { wait_ms: 0 } });
      return text.includes('"isError":true') ? text : undefined;
    };
    const gone = new AbortController();
    const left = poll(leaver.access_token, {}, gone.signal);
    t.match(await refusedPoll(), /limit_exceeded/, 'one at a time');
    gone.abort();
    await t.rejects(left);
    await until(async () => (await refusedPoll()) === undefined, { what: 'the end of the poll' });
    t.notOk(hasEnded, 'the one that was left did not wait for its end');

    await app.call('POST', `/v1/messaging/conversations/${group}/messages`, {
      token: ada.access_token,
      body: { body: `Wake up at ${revision}`, client_message_id: revision },
    });
    t.match((await waiting).text, new RegExp(`Wake up at ${revision}`));
  });
}

t.test('repetitions with a key have one effect, and changes are audited', async (t) => {
  const create = (name: string, token = ada.access_token) =>
    modern(`${url}?tools=all`, token, 'tools/call', {
      name: 'create-conversation',
      arguments: { body: { type: 'group', title: name, participants: [] } },
      _meta: { 'parley/idempotency-key': 'once' },
    }).then(({ text }) => JSON.parse(text).result);
  const first = await create('By an assistant');
  t.strictSame((await create('By an assistant')).structuredContent, first.structuredContent);
  t.equal(refusalIn(await create('Another')), 'validation_failed Idempotency-Key');
  const { id } = first.structuredContent;
  const { body } = await callsAt(app, NEWEST_VERSION).call<{
    data: { action: string; actor: { id: string } }[];
  }>('GET', `/v1/account/audit?conversation_id=${id}`);
  t.strictSame(
    body.data.map(({ action, actor }) => [action, actor.id]),
    [['conversation.created', ada.id]],
  );
});

t.test('calls count as requests, and so does all else', async (t) => {
  const limited = await startTestApp(t, { PARLEY_RATE_LIMIT: '3/3600' });
  const place = `${limited.baseUrl}/mcp`;
  const token = limited.demo.users.grace.access_token;
  const call = () => modern(place, token, 'tools/call', { name: 'get-me', arguments: {} });
  t.equal((await modern(place, token, 'server/discover')).status, 200);
  t.notMatch((await call()).text, /isError/);
  t.equal(
    (await limited.call('GET', '/v1/messaging/conversations', { token })).headers.get('ratelimit-remaining'),
    '0',
  );
  t.equal(refusalIn(JSON.parse((await call()).text).result), 'rate_limit_exceeded null');
  const { status, headers } = await modern(place, token, 'tools/list');
  t.equal(status, 429);
  t.ok(Number(headers.get('retry-after')) > 0);
});

/** The status for a page whose own host name was made to lead to this server. */
function statusOfRebound(): Promise<number | undefined> {
  const headers = { ...ours, Host: 'evil.example.com', Origin: 'http://evil.example.com' };
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end(JSON.stringify(LIST));
  });
}
