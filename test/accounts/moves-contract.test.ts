/** Answers to requests while their account moves, and afterwards (docs/operations.md#cells). */

import { randomUUID } from 'node:crypto';
import t from 'tap';
import { newApiKey } from '../../src/api/access/api-keys.ts';
import type { MoveState } from '../../src/api/access/tables.ts';
import { HOOKS } from '../../src/app/features.ts';
import { writeMove } from '../../src/core/accounts/account/moves.ts';
import { Cell } from '../../src/features/cells/cell.ts';
import { lowerFence, raiseFence } from '../../src/features/cells/fence.ts';
import { PollClient, poll, StreamClient } from '../support/answer-clients.ts';
import { type CallOptions, type Refusal, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const CELL = 'https://b.chat.example';
const HOME = 'https://home.chat.example';
const USERS = '/v1/users';

const app = await startTestApp(t);
const { demo } = app;
const other = {
  token: demo.other_account.api_key,
  headers: { 'Service-Account': demo.other_account.account_id },
};
/** A key whose row the move has removed. */
const gone = newApiKey().key;
const MOVED = { error: { code: 'account_in_other_cell', type: 'invalid_request_error', cell_url: CELL } };

/** A URL of before the move, whose bytes would stay behind. */
const upload = await app.call<{ url: string; headers: Record<string, string> }>(
  'POST',
  '/v1/messaging/attachments/upload-url',
  { body: { filename: 'a.txt', content_type: 'text/plain', size_bytes: 1 } },
);
let groups = 0;

t.test('until changes are refused, a move changes nothing', async (t) => {
  await move('leaving');
  t.equal((await change()).status, 201);
  await move('arrived');
  t.equal((await change()).status, 201);
});

for (const state of ['closing', 'fenced'] as const) {
  t.test(`${state}: changes are refused for a moment, reads go on`, async (t) => {
    await move(state);
    const refused = await answered(503, change);
    t.match(refused.body.error, { code: 'service_unavailable', is_transient: true });
    t.equal(refused.headers.get('Retry-After'), '1');
    t.equal((await app.call('GET', USERS)).status, 200);
    const asked = { body: { wait_ms: 0 } };
    t.equal((await app.call('POST', '/v1/realtime/poll', { ...asked, ...preview() })).status, 200);
    const unknown = await app.call('GET', USERS, { token: gone });
    t.equal(unknown.body.error.code, 'invalid_credentials', 'others learn nothing');
    t.equal((await put()).status, 503, 'bytes of a file');
    await othersGoOn(t);
  });
}

t.test('left: a stream and a poll that are open end', async (t) => {
  await move('leaving');
  await answered(201, change);
  const node = {
    baseUrl: app.baseUrl,
    headers: {
      Authorization: `Bearer ${demo.users.ada.access_token}`,
      'Service-Version': '1.3.harbor',
      'Service-Account': demo.account_id,
    },
  };
  const stream = new StreamClient(node);
  t.teardown(() => stream.close());
  await stream.frame('ready');
  const { cursor } = await poll(node, { wait_ms: 0 });
  const waiting = new PollClient(node, { cursor });
  await waiting.begins();
  await move('left');
  await stream.ends();
  t.match(stream.closed, { code: 4003, reason: 'account_moved' });
  // A poll may end with the summary of the inbox, which is read again, before its caller is.
  const last = await waiting.answer;
  const { code } = last.frames.at(-1)!;
  if (code !== 4003) t.match(await poll(node, { cursor: last.cursor }), { status: 421, ...MOVED });
});

t.test('left: every request about the account is answered with where it is', async (t) => {
  await move('left');
  const refused = await answered(421, () => app.call('GET', USERS));
  t.match(refused.body, MOVED);
  const { cell_url: _, ...rest } = refused.body.error;
  t.match(Object.keys(rest), [
    'code',
    'type',
    'message',
    'param',
    'doc_url',
    'is_transient',
    'request_log_url',
  ]);
  const cases: [string, CallOptions & { method?: string; path?: string }][] = [
    ['a change', { method: 'POST', path: '/v1/messaging/groups', body: { name: 'Crew' } }],
    ['a poll', { method: 'POST', path: '/v1/realtime/poll', body: {}, ...preview() }],
    ['a stream', { method: 'POST', path: '/v1/realtime/streams', body: {}, ...preview() }],
    ['a key whose row is gone', { token: gone }],
    ['no credential', { headers: { Authorization: undefined } }],
    ['a malformed one', { token: 'x' }],
    ['a token of an identity provider', { token: 'a.b.c' }],
    ['the credential of another account', { token: other.token }],
    [
      'an endpoint without a credential',
      {
        method: 'POST',
        path: '/v1/auth/tokens/refresh',
        body: { refresh_token: 'x' },
        headers: { Authorization: undefined },
      },
    ],
  ];
  for (const [what, { method = 'GET', path = USERS, ...options }] of cases) {
    const answer = await app.call(method, path, options);
    t.equal(answer.status, 421, what);
    t.match(answer.body, MOVED, what);
  }
  t.match(await (await put()).json(), MOVED, 'bytes of a file');
  await othersGoOn(t);
});

t.test('left: the token of an actor whose row is gone still names its account', async (t) => {
  const token = await app.tokenOf('usr_gone');
  const answer = await app.call('GET', USERS, { token, headers: { 'Service-Account': undefined } });
  t.match(answer.body, MOVED);
});

t.test('arriving: nothing is answered yet', async (t) => {
  await move('arriving');
  const refused = await answered(503, () => app.call('GET', USERS));
  t.equal(refused.headers.get('Retry-After'), '1');
  t.equal((await change()).status, 503);
  t.equal((await app.call('GET', USERS, { token: gone })).status, 503, 'a key that has not arrived');
  await othersGoOn(t);
});

t.test('arrived: it is used like all others', async (t) => {
  await move('arrived');
  await answered(201, change);
  t.equal((await put()).status, 204);
  t.equal((await app.call('GET', USERS, { token: gone })).status, 401);
});

t.test('what Postgres refuses while the account is fenced is no defect', async (t) => {
  const made = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    ...other,
    body: { type: 'group', title: 'Dock' },
  });
  t.equal(made.status, 201);
  await app.database.withoutTimeLimit((kysely) => raiseFence(new Cell(kysely, HOOKS), demo.account_id));
  const send = (id: string, options: CallOptions = {}) =>
    app.call('POST', `/v1/messaging/conversations/${id}/messages`, {
      body: { body: 'ahoy', client_message_id: randomUUID() },
      ...options,
    });
  const ours = Array.from({ length: 20 }, () => send(demo.conversations.group));
  const others = Array.from({ length: 20 }, () => send(made.body.id, other));
  for (const answer of await Promise.all(ours)) {
    t.match(answer, { status: 503, body: { error: { code: 'service_unavailable' } } });
  }
  for (const { status } of await Promise.all(others)) t.equal(status, 201, 'in the same flushes');
  t.match(await change(), { status: 503, body: { error: { code: 'service_unavailable' } } });
  await app.database.withoutTimeLimit((kysely) => lowerFence(new Cell(kysely, HOOKS), demo.account_id));
  t.equal((await change()).status, 201);
  t.equal((await send(demo.conversations.group)).status, 201);
});

t.test('an account that was never here', async (t) => {
  const unknown = { token: gone, headers: { 'Service-Account': 'acc_unknown' } };
  t.equal((await app.call('GET', USERS, unknown)).body.error.code, 'invalid_credentials');
  const known = { headers: unknown.headers };
  t.equal((await app.call('GET', USERS, known)).body.error.code, 'resource_not_found');

  const cell = await startTestApp(t, { PARLEY_HOME_CELL: HOME });
  for (const options of [unknown, known]) {
    const { status, body } = await cell.call('GET', USERS, options);
    t.match({ status, body }, { status: 421, body: { error: { ...MOVED.error, cell_url: HOME } } });
  }
  t.equal((await cell.call('GET', USERS, { token: gone })).body.error.code, 'invalid_credentials');
  t.equal((await cell.call('GET', '/v1/nothing', unknown)).body.error.code, 'resource_not_found');
  t.equal((await cell.call('GET', USERS)).status, 200);
});

function move(state: MoveState): Promise<void> {
  return app.database.transaction((tx) =>
    writeMove(tx, { account_id: demo.account_id, state, cell: CELL, number: 1 }),
  );
}

/** Repeats a request until nodes have read the state. */
function answered(status: number, request: () => Promise<Answer>): Promise<Answer> {
  const ask = async () => {
    const answer = await request();
    return answer.status === status ? answer : undefined;
  };
  return until(ask, { what: `an answer with ${status}` });
}

type Answer = Awaited<ReturnType<typeof change>>;

function put(): Promise<Response> {
  const { url, headers } = upload.body;
  return fetch(url, { method: 'PUT', headers, body: 'x' });
}

function change() {
  return app.call<Refusal>('POST', '/v1/messaging/groups', { body: { name: `Crew ${++groups}` } });
}

function preview(): CallOptions {
  return { headers: { 'Service-Version': '1.3.harbor-preview.1' } };
}

async function othersGoOn(t: Tap): Promise<void> {
  t.equal((await app.call('GET', USERS, other)).status, 200, 'others read');
  t.equal(
    (await app.call('POST', '/v1/messaging/groups', { ...other, body: { name: `Crew ${++groups}` } })).status,
    201,
    'others change',
  );
}

type Tap = Pick<typeof t, 'equal'>;
