/**
 * JSON of callers' own keeps the values of its numbers on every way through Parley, even those that
 * no double equals (docs/contract.md#numbers).
 */

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { canonicalJson } from '@parley/protocol/json/canonical-json.ts';
import { parseExact } from '@parley/protocol/json/exact-json.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import { hasOpenJson } from '@parley/protocol/schema/open-json.ts';
import { NEWEST_VERSION, VERSIONS } from '@parley/protocol/versions.ts';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { markedLike } from '../../src/api/marked-json.ts';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { withoutContent } from '../../src/core/resources/without-content.ts';
import { withoutPerson } from '../../src/features/compliance/without-person.ts';
import { personWith } from '../accounts/fixture.ts';
import { AGENTS } from '../agents/bodies.ts';
import { Runs } from '../agents/runs.ts';
import { downloaded, exported } from '../compliance/export-fixture.ts';
import { Client } from '../gateway/fixture.ts';
import { freshDirectory } from '../start/parley.ts';
import { type CallAnswer, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

/** In the order of sending. */
const NUMBERS = [
  '9007199254740993',
  '-9007199254740993',
  '123456789012345678901234567890',
  '-1e-400',
  '0.10000000000000000001',
  '1.00000000000000000001E+2',
  '0.1',
  '1.0',
  '1e2',
  '0',
  '-17.25',
  '5e-324',
  '1.7976931348623157e308',
  '0.30000000000000004',
  '12345678901234567890.5',
] as const;
const LIST = `"numbers":[${NUMBERS.join(',')}]`;
const DATA = `{"order":{${LIST}},"o":9007199254740993}`;

const models = await ModelServer.start(t);
models.otherwise('Noted.');
const app = await startTestApp(t, { ...models.env('only'), PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo } = app;
const runs = new Runs(app);
type Made = { readonly id: string };

t.test('the bodies with JSON of the caller, which have no numbers beside it', async (t) => {
  const open = app.routes.filter(({ body }) => body !== undefined && hasOpenJson(body));
  t.strictSame(open.map(({ name }) => name).sort(), [
    'create_event',
    'create_identity_provider',
    'create_push_app',
    'trigger_agent_run',
    'update_identity_provider',
    'update_push_app',
  ]);
  for (const { name, body } of open) t.notMatch(JSON.stringify(body), /"(number|integer)"/, name);
});

t.test('an event, in every version, at every end', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  await post('/v1/webhooks', JSON.stringify({ url: receiver.url, event_types: ['order.created'] }));
  const listening = await runs.agent({
    trigger_type: 'event',
    config: { trigger_config: { event_filters: ['order.created'] } },
  });
  const producer = await personWith(app, ['events:create', 'events:read']);
  const versions = VERSIONS.filter((one) => one >= '1.2');
  for (const version of versions) {
    const text = `{"type":"order.created","event_id":"${randomUUID()}","data":${DATA}}`;
    const keyed = { 'Service-Version': version, 'Idempotency-Key': randomUUID() };
    const made = await post<Made>('/v1/events', text, keyed, producer.token);
    kept(t, made.text, `${version}: the answer`);
    const path = `/v1/events/${made.body.id}`;
    kept(t, (await get(path, version)).text, `${version}: read`);
    kept(t, (await get('/v1/events?limit=1', version)).text, `${version}: listed`);
    const replayed = await post('/v1/events', text, keyed, producer.token);
    t.strictSame([replayed.headers.get('Idempotent-Replayed'), replayed.text], ['true', made.text]);
    const again = await post<Made>('/v1/events', text, { 'Service-Version': version });
    t.equal(again.body.id, made.body.id, 'the same content under its event_id');
    const other = text.replace('"o":9007199254740993', '"o":9007199254740992');
    for (const headers of [keyed, { 'Service-Version': version }]) {
      const refused = await raw('/v1/events', other, headers, producer.token);
      t.match(refusalOf(refused), /^422 validation_failed (Idempotency-Key|event_id)$/, 'one digit differs');
    }
    const sent = await until(() => receiver.received.find((one) => one.text.includes(made.body.id)), {
      what: 'the webhook',
    });
    kept(t, sent.text, `${version}: the webhook`);
  }
  const started = await until(
    async () => {
      const { text, body } = await get<List<AgentRun>>(`${AGENTS}/${listening.id}/runs`);
      const isOver = body.data.every(({ status }) => status === 'completed');
      return isOver && body.data.length === versions.length ? text : undefined;
    },
    { what: 'the runs that the events start' },
  );
  t.equal(kept(t, started, 'their inputs'), versions.length);
  const shown = await exported(app, `/v1/users/${producer.id}/exports`);
  const { files } = await downloaded(shown, freshDirectory(t));
  t.equal(kept(t, files.get('events.jsonl')!, 'the export'), versions.length);
});

t.test('what a size or Postgres does not hold is refused, as before', async (t) => {
  for (const number of ['1e400', '-1e400', '1e-16384', `0.${'0'.repeat(16_384)}1`, '1e-99999999999']) {
    const refused = await raw('/v1/events', `{"type":"order.created","data":{"a":${number}}}`);
    t.equal(refusalOf(refused), '422 validation_failed data', number.slice(0, 20));
  }
  const agent = await runs.agent();
  for (const number of ['1e400', '1e-16384', `0.${'0'.repeat(16_383)}1`]) {
    const refused = await raw(`${AGENTS}/${agent.id}/runs`, `{"input":${number}}`);
    t.equal(refusalOf(refused), '422 validation_failed input', number.slice(0, 20));
  }
  for (const body of ['9007199254740993', '[9007199254740993]']) {
    t.equal(refusalOf(await raw('/v1/events', body)), '400 invalid_format null', body);
  }
});

t.test('a run: its input, what the model reads and writes, and the results of its tools', async (t) => {
  const frames = await framesOf(t, runs.grace);
  const role = await app.database.transaction((tx) =>
    createRole(tx, {
      accountId: demo.account_id,
      name: 'Raiser',
      permissions: ['events:create', 'events:read'],
    }),
  );
  const agent = await runs.agent({
    role_id: role.id,
    config: { endpoint_tool_slugs: ['create-event'], endpoint_tool_review: { 'create-event': false } },
  });
  const asked = `{"body":{"type":"order.seen","data":${DATA}}}`;
  for (const version of VERSIONS.filter((one) => one >= '1.1')) {
    models.reply({ calls: [{ name: 'create-event', arguments: asked }] }).reply('Noted.');
    const before = models.requests.length;
    const headers = { 'Service-Version': version, 'Idempotency-Key': randomUUID() };
    const made = await post<Made>(`${AGENTS}/${agent.id}/runs`, `{"input":${DATA}}`, headers, runs.grace);
    kept(t, made.text, `${version}: the answer`);
    await runs.reached(made.body.id, 'completed');
    const { text } = await get(`/v1/ai/runs/${made.body.id}?include[]=actions&include[]=steps`, version);
    t.equal(kept(t, text, `${version}: input, arguments and result`), 3);
    const [first, second] = models.requests.slice(before).map(({ body }) => JSON.stringify(body));
    kept(t, unquoted(first!), `${version}: the prompt`);
    t.ok(kept(t, unquoted(second!), `${version}: the call and its result in the prompt`) >= 3);
  }
  const number = await post<Made>(`${AGENTS}/${agent.id}/runs`, '{"input":9007199254740993}');
  t.match(number.text, '"input":9007199254740993');
  t.match((await get(`/v1/ai/runs/${number.body.id}`)).text, '"input":9007199254740993');
  await until(() => frames.some((text) => text.includes('"completed"')), { what: 'the end of a run' });
  for (const text of frames) if (text.includes('agent_run.updated')) kept(t, text, 'the socket');
});

t.test('members of a key of an identity provider', async (t) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = `${JSON.stringify(publicKey.export({ format: 'jwk' })).slice(0, -1)},"kid":"a",${LIST}}`;
  const facts = '"name":"A","issuer":"https://login.example.com","audience":"a"';
  const made = await post<Made>('/v1/identity-providers', `{${facts},"jwks":{"keys":[${key}]}}`);
  kept(t, made.text, 'made');
  const path = `/v1/identity-providers/${made.body.id}`;
  kept(t, (await get(path)).text, 'read');
  const long = `{${facts},"jwks":{"keys":[${key.replace(LIST, '"a":1e-99999')}]}}`;
  t.equal(refusalOf(await raw('/v1/identity-providers', long)), '422 validation_failed jwks');
});

t.test('texts that look like numbers, and answers that are rewritten', async (t) => {
  const text = `{"id":"evt_1","note":"1e5, 9007199254740993",${LIST}}`;
  const value = parseExact(text);
  kept(t, JSON.stringify(value), 'parsed');
  t.equal((value as { note: string }).note, '1e5, 9007199254740993');
  kept(t, canonicalJson(value), 'in a fingerprint');
  kept(t, JSON.stringify(withoutContent(value, new Set(['msg_1']))), 'beside a redaction');
  kept(t, JSON.stringify(withoutPerson(value, 'act_1')), 'beside an erasure');
  kept(t, markedLike(Buffer.from(text), value), 'in a stored answer');
});

function raw<Body = Refusal>(path: string, rawBody: string, headers = {}, token = demo.api_key) {
  return app.call<Body>('POST', path, {
    rawBody,
    token,
    headers: { 'Service-Version': NEWEST_VERSION, ...headers },
  });
}

async function post<Body>(...request: Parameters<typeof raw>): Promise<CallAnswer<Body>> {
  const answer = await raw<Body>(...request);
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
}

function get<Body>(path: string, version: string = NEWEST_VERSION): Promise<CallAnswer<Body>> {
  return app.call<Body>('GET', path, { headers: { 'Service-Version': version } });
}

/** The texts of the frames that a socket of this caller gets from now on. */
async function framesOf(t: Test, token: string): Promise<readonly string[]> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Account': demo.account_id,
    'Service-Version': NEWEST_VERSION,
  };
  const socket = new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers });
  const texts: string[] = [];
  socket.on('message', (data) => texts.push(String(data)));
  const client = new Client(socket);
  t.teardown(() => client.close());
  await client.frame('ready');
  return texts;
}

/** The text of a prompt without the quotes around the JSON in it. */
function unquoted(text: string): string {
  return text.replaceAll('\\', '');
}

/** Checks every list of numbers in the text, of which there is one at least. Returns how many. */
function kept(t: Test, text: string, what: string): number {
  const lists = [...text.matchAll(/"numbers":\[([^\]]*)\]/g)].map(([, list]) =>
    list!.split(',').map(decimalOf),
  );
  t.ok(lists.length > 0, `${what} has them`);
  for (const list of lists) t.strictSame(list, NUMBERS.map(decimalOf), what);
  return lists.length;
}

/** Returns one text for all forms of a number. */
function decimalOf(number: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(
    number.trim(),
  )!;
  let digits = BigInt(`${whole}${fraction}`);
  let power = Number(exponent) - fraction.length;
  if (digits === 0n) return '0';
  for (; digits % 10n === 0n; digits /= 10n) power += 1;
  return `${sign}${digits}e${power}`;
}
