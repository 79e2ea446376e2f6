/** The audit of the whole account (docs/contract.md#audit) over HTTP, on a whole server. */

import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent, AuditHead } from '@parley/protocol/resources/audit-event.ts';
import t from 'tap';
import { audit } from '../../src/core/audit/audit.ts';
import { exportAudit } from '../../src/core/audit/chain-store.ts';
import { TrustedKeys } from '../../src/core/audit/signing-key.ts';
import { verifyExport } from '../../src/core/audit/verify.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { closed, gatesOf, TIME } from '../accounts/fixture.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';

const PATH = '/v1/account/audit';
const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace } = demo.users;
const preview = { 'Service-Version': '1.2.harbor' };

t.test('it has the events of every conversation and those of the account itself, newest first', async (t) => {
  const mine = await createGroup('Mine', ada.access_token);
  const theirs = await createGroup('Theirs', grace.access_token);
  await database.transaction((tx) =>
    audit(tx, {
      accountId: demo.account_id,
      conversationId: null,
      actorId: ada.id,
      action: 'messages.purged',
      details: { messages: 3 },
    }),
  );
  const { data } = await list('limit=3');
  t.strictSame(
    data.map(({ conversation_id, action, actor }) => [conversation_id, action, actor?.id]),
    [
      [null, 'messages.purged', ada.id],
      [theirs, 'conversation.created', grace.id],
      [mine, 'conversation.created', ada.id],
    ],
  );
  const [event] = data;
  t.strictSame(event, {
    id: event?.id,
    object: 'audit_event',
    conversation_id: null,
    action: 'messages.purged',
    actor: event?.actor,
    details: { messages: 3 },
    created_at: event?.created_at,
  });
  t.match(event?.created_at, TIME);

  const ofTheirs = await list(`conversation_id=${theirs}`);
  t.strictSame(conversationsOf(ofTheirs), [theirs]);
  t.strictSame(conversationsOf(await list(`actor_id=${grace.id}&action=conversation.created&limit=1`)), [
    theirs,
  ]);
  t.strictSame((await list(`conversation_id=${theirs}&actor_id=${ada.id}`)).data, []);
  const { body } = await app.call<List<AuditEvent>>('GET', `/v1/messaging/conversations/${mine}/audit`);
  t.notOk('conversation_id' in body.data[0]!, 'callers of 1.1 get the fields that they had');
});

t.test('the audit of an account checks its parameters', async (t) => {
  const refused = async (query: string) => refusalOf(await ask(query));
  t.equal(await refused(`conversation_id=${'x'.repeat(65)}`), '400 parameter_invalid conversation_id');
  t.equal(await refused(`actor_id=${'x'.repeat(65)}`), '400 parameter_invalid actor_id');
  t.equal(await refused('actor_id=agt_000000000000000000000000'), '400 parameter_invalid actor_id');
  t.equal(await refused(`action=${'x'.repeat(65)}`), '400 parameter_invalid action');
  t.equal(await refused('who=ada'), '400 parameter_unknown who');
  t.equal(await refused('limit=0'), '400 parameter_invalid limit');
  const { page_info } = await list('limit=1');
  const cursor = new URL(page_info.next_page_url!, app.baseUrl).searchParams.get('cursor');
  t.equal(await refused(`cursor=${cursor}&action=conversation.created`), '400 parameter_invalid cursor');
});

t.test('its signed head covers every event within moments', async (t) => {
  const other = demo.other_account;
  const headOf = async (options: CallOptions = {}) => {
    const { status, text } = await app.call('GET', `${PATH}/head`, { headers: preview, ...options });
    if (status !== 200) throw new Error(text);
    return JSON.parse(text) as AuditHead;
  };
  const empty = await headOf({
    token: other.api_key,
    headers: { ...preview, 'Service-Account': other.account_id },
  });
  t.match(empty, { account_id: other.account_id, number: 0, hash: '0'.repeat(64), signed_at: TIME });
  await createGroup('Sealed', ada.access_token);
  const count = async () => (await database.query(COUNT, demo.account_id))[0]?.count;
  const head = await until(
    async () => {
      const head = await headOf();
      return head.number === (await count()) ? head : undefined;
    },
    { what: 'the last event to be sealed' },
  );
  t.match(head, { object: 'audit_head', account_id: demo.account_id, hash: /^[0-9a-f]{64}$/ });
  const keys = new TrustedKeys([head.public_key]);
  t.strictSame([keys.verify(head), keys.verify(empty)], ['valid', 'valid']);
  const lines: string[] = [];
  await exportAudit(database, demo.account_id, async (line) => void lines.push(JSON.stringify(line)));
  t.match(await verifyExport({ lines, trusted: keys, heads: [head] }), { heads_contained: 1 });
  t.equal(
    refusalOf(await app.call('GET', `${PATH}/head?x=1`, { headers: preview })),
    '400 parameter_unknown x',
  );

  const gates = { method: 'GET', path: `${PATH}/head`, permission: null, agents: false } as const;
  const version = preview['Service-Version'];
  t.strictSame(await gatesOf(app, { ...gates, version }), closed(gates));
});

t.test('a plain send writes no audit', async (t) => {
  const id = await createGroup('Plain', ada.access_token);
  const body = { body: 'ahoy', client_message_id: 'plain-1' };
  const sent = await app.call('POST', `/v1/messaging/conversations/${id}/messages`, { body });
  t.equal(sent.status, 201);
  t.strictSame(
    (await list(`conversation_id=${id}`)).data.map(({ action }) => action),
    ['conversation.created'],
  );
});

t.test('it is for admins, and for keys of an admin role', async (t) => {
  const gates = { method: 'GET', path: PATH, permission: null, agents: false } as const;
  const version = preview['Service-Version'];
  t.strictSame(await gatesOf(app, { ...gates, version }), closed(gates));
  t.equal((await ask('', { token: ada.access_token })).status, 200);
  const other = demo.other_account;
  const neighbour = await app.call<List<AuditEvent>>('GET', PATH, {
    token: other.api_key,
    headers: { ...preview, 'Service-Account': other.account_id },
  });
  t.strictSame([neighbour.status, neighbour.body.data], [200, []], 'of its own account alone');
});

const COUNT = statement<[accountId: string], { count: number }>('count-audit')`
    SELECT count(*) FROM audit_events WHERE account_id = $1`;

async function createGroup(title: string, token: string): Promise<string> {
  const body = { type: 'group', title, participants: [] };
  const answer = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', { body, token });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.id;
}

function ask(query: string, options: CallOptions = {}) {
  return app.call('GET', `${PATH}?${query}`, { headers: preview, ...options });
}

async function list(query: string): Promise<List<AuditEvent>> {
  const { status, text } = await ask(query);
  if (status !== 200) throw new Error(text);
  return JSON.parse(text);
}

function conversationsOf({ data }: List<AuditEvent>): (string | null | undefined)[] {
  return data.map(({ conversation_id }) => conversation_id);
}
