/**
 * The examples of answers in openapi.json, compared with real answers of the same operations and
 * with the rules between the fields of a resource.
 */

import { randomUUID } from 'node:crypto';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { EFFECTS } from '../../src/api/documents/openapi/effects.ts';
import { nameOf, type SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import { createOperatorKey } from '../../src/core/accounts/installation/operator-keys.ts';
import { Runs } from '../agents/runs.ts';
import { Conversations, PATH } from '../conversations/fixture.ts';
import { borrowTestApp, type CallOptions } from '../support/app.ts';
import { until } from '../support/until.ts';

type Fields = Readonly<Record<string, unknown>>;
type Found = Fields & { readonly id: string };

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace } = demo.users;
const cases = new Conversations(app);
const { paths, components } = (await (await fetch(`${app.baseUrl}/v1/openapi.json`)).json()) as OpenApi;
const answers = Object.values(paths).flatMap((methods) =>
  Object.values(methods).flatMap(({ operationId, responses }) =>
    Object.entries(responses).flatMap(([status, { content }]) => {
      const answer = content?.['application/json'];
      return status < '300' && answer ? [{ operationId, ...answer }] : [];
    }),
  ),
);

const MESSAGES = '/v1/messaging/messages';
const NOTIFICATIONS = '/v1/messaging/notifications';
const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();
const { id: group } = await cases.create({ title: 'Examples' });
const { id: ofCustomer } = (await cases.createCase()).conversation;
const member = await ok('POST', `${PATH}/${group}/participants`, { type: 'user', actor_id: grace.id });

/** Operations whose answer shows their effect. Others show the resource as every read does. */
const REAL: Readonly<Record<string, () => Promise<Fields>>> = {
  send_message: () => send(),
  get_message: async () => ok('GET', `${MESSAGES}/${(await send()).id}`),
  update_message: async () => ok('PATCH', `${MESSAGES}/${(await send()).id}`, { body: 'again' }),
  delete_message: async () => ok('DELETE', `${MESSAGES}/${(await send()).id}`),
  redact_message: async () => {
    const path = `${MESSAGES}/${(await send()).id}/actions/redact`;
    return ok('POST', path, { reason: 'It has the number of a card.' }, { token: demo.api_key });
  },
  forward_message: async () =>
    act((await send()).id, 'forward', { conversation_id: group, client_message_id: randomUUID() }),
  reject_reply_draft: async () => act((await draft()).id, 'reject'),
  approve_reply_draft: async () => act((await draft()).id, 'approve'),
  cancel_scheduled_message: async () => act((await send({ scheduled_at: IN_AN_HOUR })).id, 'cancel'),
  send_scheduled_message_now: async () => act((await send({ scheduled_at: IN_AN_HOUR })).id, 'send-now'),
  create_alert: () =>
    ok('POST', '/v1/messaging/alerts', { title: 'Fire.', conversation_id: group }, { token: demo.api_key }),
  pin_message: async () => act((await send()).id, 'pin'),
  unpin_message: async () => act((await send()).id, 'unpin'),
  create_conversation: () => ok('POST', PATH, { type: 'group', title: 'New', participants: [] }),
  get_conversation: () => ok('GET', `${PATH}/${group}`),
  put_conversation: () =>
    ok('PUT', `${PATH}/ext:examples`, { type: 'group', title: 'New', participants: [] }),
  set_legal_hold: async () =>
    ok('POST', `${PATH}/${await conversed()}/actions/set-legal-hold`, { legal_hold: 'held' }),
  hide_conversation: () => ok('POST', `${PATH}/${group}/actions/hide`),
  unhide_conversation: () => ok('POST', `${PATH}/${group}/actions/unhide`),
  snooze_conversation: () => ok('POST', `${PATH}/${group}/actions/snooze`, { until: IN_AN_HOUR }),
  unsnooze_conversation: () => ok('POST', `${PATH}/${group}/actions/unsnooze`),
  mark_conversation_read: () => ok('POST', `${PATH}/${group}/actions/mark-read`, { sequence: 1 }),
  delete_conversation: async () => ok('DELETE', `${PATH}/${await conversed()}`),
  get_participant: () => ok('GET', `${PATH}/${group}/participants/${member.id}`),
  remove_participant: () => ok('DELETE', `${PATH}/${group}/participants/${member.id}`),
  get_notification: async () => ok('GET', `${NOTIFICATIONS}/${await notified()}`),
  see_notification: async () => ok('POST', `${NOTIFICATIONS}/${await notified()}/actions/see`),
  read_notification: async () => ok('POST', `${NOTIFICATIONS}/${await notified()}/actions/read`),
  dismiss_notification: async () => ok('POST', `${NOTIFICATIONS}/${await notified()}/actions/dismiss`),
  deactivate_user: async () => byKey('POST', `/v1/users/${await newUser()}/actions/deactivate`),
  activate_user: async () => byKey('POST', `/v1/users/${await newUser()}/actions/activate`),
  create_api_key: () => newKey(),
  revoke_api_key: async () => byKey('POST', `/v1/api-keys/${(await newKey()).id}/actions/revoke`),
  delete_installation_account: async () => {
    const { key: token } = await app.database.transaction((tx) => createOperatorKey(tx, { name: 'Billing' }));
    const accounts = '/v1/installation/accounts';
    const { id } = await ok('POST', accounts, { name: 'Harbor Freight' }, { token });
    return ok('DELETE', `${accounts}/${id}`, undefined, { token });
  },
  create_import: () => newImport(),
  cancel_import: async () => {
    const { data } = (await byKey('GET', '/v1/imports')) as unknown as { data: [Found] };
    return byKey('POST', `/v1/imports/${data[0].id}/actions/cancel`);
  },
  start_import: async () => {
    const { id } = await newImport();
    const { url, headers } = await byKey('POST', `/v1/imports/${id}/parts`, { number: 1 });
    await fetch(`${url}`, { method: 'PUT', headers: headers as Record<string, string>, body: '123456789' });
    return byKey('POST', `/v1/imports/${id}/actions/start`);
  },
  cancel_agent_run: async () => {
    const begun = { status: 'awaiting_approval', started_at: new Date().toISOString() } as const;
    const id = await new Runs(app).insert(demo.agent.id, begun);
    return byKey('POST', `/v1/ai/runs/${id}/actions/cancel`);
  },
  trigger_agent_run: () => ok('POST', `/v1/ai/agents/${demo.agent.id}/runs`, { input: 'ahoy' }),
  create_webhook: () =>
    byKey('POST', '/v1/webhooks', { url: 'https://hooks.example.com/', event_types: ['order.created'] }),
};

/** Fields that depend on what the caller sent or on what happened before, by `resource.field`. */
const VARIES: ReadonlySet<string> = new Set([
  'agent_run.conversation_id',
  'agent_run.input',
  'agent_run.trigger_type',
  'agent_run.triggered_by_id',
  'assignee_id',
  'chat_message.client_message_id',
  'external_id',
]);

t.test('each effect that examples show is tried', (t) => {
  t.strictSame(
    Object.keys(EFFECTS).filter((operation) => !(operation in REAL)),
    [],
  );
  t.end();
});

for (const [operation, real] of Object.entries(REAL)) {
  t.test(`${operation}: the example has the form of a real answer`, async (t) => {
    const { example, schema } = answers.find(({ operationId }) => operationId === operation)!;
    const { properties = {} } = schema.$ref === undefined ? schema : components.schemas[nameOf(schema.$ref)]!;
    const answer = await real();
    t.strictSame(Object.keys(answer).sort(), Object.keys(example).sort());
    const differ = Object.entries(example).filter(([field, value]) => {
      if (VARIES.has(field) || VARIES.has(`${example.object}.${field}`)) return false;
      const isSet = properties[field]?.enum !== undefined || typeof value === 'boolean';
      return isSet ? value !== answer[field] : (value === null) !== (answer[field] === null);
    });
    t.strictSame(
      differ.map(([field, value]) => `${field}: ${value}, not ${answer[field]}`),
      [],
    );
  });
}

/** The rules between the fields of a resource, which hold for every example. */
const RULES: Readonly<Record<string, readonly (readonly [rule: string, holds: (one: Fields) => boolean])[]>> =
  {
    chat_message: [
      [
        'a number and a time of sending if it was sent',
        (one) => isThere(one.sequence, one.status === 'sent'),
      ],
      ['a time of sending if it was sent', (one) => isThere(one.sent_at, one.status === 'sent')],
      ['an editor if it was edited', (one) => isThere(one.edited_by, one.edited_at !== null)],
      ['no text if it was deleted', (one) => one.deleted_at === null || one.body === null],
    ],
    notification: [
      ['a time of each step', (one) => isThere(one.dismissed_at, one.status === 'dismissed')],
      ['seen if it was read', (one) => one.read_at === null || one.seen_at !== null],
    ],
    conversation: [['snoozed until a time', (one) => isThere(one.snoozed_until, one.snoozed === true)]],
    conversation_participant: [
      [
        'muted until a time only if muted',
        (one) => one.muted_until === null || one.notifications === 'muted',
      ],
    ],
    agent_run: [
      [
        'a start if it has begun',
        (one) => one.status === 'cancelled' || isThere(one.started_at, one.status !== 'pending'),
      ],
      [
        'an end if it is over',
        (one) => isThere(one.completed_at, one.status === 'completed' || one.status === 'cancelled'),
      ],
      ['no error if it is completed', (one) => one.status !== 'completed' || one.error_message === null],
    ],
    api_key: [['a time of revocation', (one) => isThere(one.revoked_at, one.status === 'revoked')]],
    pin: [['by whom, and when', (one) => isThere(one.pinned_by, one.pinned_at !== null)]],
    import: [['a start', (one) => one.status !== 'running' || one.started_at !== null]],
    webhook: [['a time of its end', (one) => isThere(one.disabled_at, one.status === 'disabled')]],
  };

t.test('no example contradicts itself', async (t) => {
  const broken = answers.flatMap(({ operationId, example }) =>
    partsOf(example).flatMap((part) =>
      (RULES[String(part.object)] ?? []).flatMap(([rule, holds]) =>
        holds(part) ? [] : `${operationId}: ${part.object} has ${rule}`,
      ),
    ),
  );
  t.strictSame(broken, []);
});

function isThere(value: unknown, expected: boolean): boolean {
  return (value !== null && value !== undefined) === expected;
}

function partsOf(value: unknown): Fields[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Fields, ...Object.values(value).flatMap(partsOf)];
}

async function ok(method: string, path: string, body?: object, options: CallOptions = {}): Promise<Found> {
  const headers = { 'Service-Version': NEWEST_VERSION };
  const asked = { token: ada.access_token, headers, ...(body && { body }), ...options };
  return cases.ok<Found>(method, path, asked);
}

function byKey(method: string, path: string, body?: object): Promise<Found> {
  return ok(method, path, body, { token: demo.api_key });
}

function send(fields: object = {}, conversation = group): Promise<Found> {
  const message = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return ok('POST', `${PATH}/${conversation}/messages`, message);
}

/** Returns the id of a new conversation with a message. */
async function conversed(): Promise<string> {
  const { id } = await cases.create({ title: 'Conversed' });
  await send({}, id);
  return id;
}

function draft(): Promise<Found> {
  return send({ mode: 'draft', channel: 'message', client_message_id: undefined }, ofCustomer);
}

function act(messageId: string, action: string, body: object = {}): Promise<Found> {
  return ok('POST', `${MESSAGES}/${messageId}/actions/${action}`, body);
}

/** Returns the id of a new notification of ada's, of a message. */
async function notified(): Promise<string> {
  const participants = [{ type: 'user', actor_id: grace.id }];
  const { id } = await cases.create({ title: 'Notified', participants });
  const body = { body: 'ahoy', client_message_id: randomUUID() };
  const { id: sent } = await ok('POST', `${PATH}/${id}/messages`, body, { token: grace.access_token });
  const read = async () => {
    const { data } = (await ok('GET', NOTIFICATIONS)) as unknown as { data: Found[] };
    return data.find(({ message_id }) => message_id === sent);
  };
  return (await until(read, { what: 'the notification' })).id;
}

async function newUser(): Promise<string> {
  const name = randomUUID();
  const { id: role_id } = await byKey('POST', '/v1/roles', { name, permissions: [] });
  return (await byKey('POST', '/v1/users', { name, email: `${name}@example.com`, role_id })).id;
}

async function newKey(): Promise<Found> {
  const { id: role_id } = await byKey('POST', '/v1/roles', { name: randomUUID(), permissions: [] });
  return byKey('POST', '/v1/api-keys', { name: 'Warehouse', role_id });
}

function newImport(): Promise<Found> {
  return byKey('POST', '/v1/imports', { source: 'slack', size_bytes: 9, sha256: '0'.repeat(64) });
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, SchemaObject>> };
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly content?: {
          readonly 'application/json'?: { readonly schema: SchemaObject; readonly example: Fields };
        };
      }
    >
  >;
}
