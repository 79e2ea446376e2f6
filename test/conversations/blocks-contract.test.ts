/**
 * Blocks of customers and between users (docs/contract.md#blocks) over HTTP and sockets, on a whole
 * server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Block } from '@parley/protocol/resources/participant.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../gateway/fixture.ts';
import { borrowTestApp, type CallAnswer, type CallOptions, type Refusal, refusalOf } from '../support/app.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const NEWEST = { headers: { 'Service-Version': NEWEST_VERSION } };
const BY_ADA = { token: ada.access_token, ...NEWEST };
const BY_GRACE = { token: grace.access_token, ...NEWEST };
const BY_VERA = { token: vera.access_token, ...NEWEST };
const BY_KEY = { token: demo.api_key, ...NEWEST };
const ELSEWHERE = {
  token: demo.other_account.api_key,
  headers: { ...NEWEST.headers, 'Service-Account': demo.other_account.account_id },
};
const FORBIDDEN = '403 insufficient_permissions null';
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

t.test('a customer that the team has blocked reads, and writes nowhere', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const { id } = conversation;
  const actorId = customer.actor!.id;
  const byCustomer = { token: await app.tokenOf(actorId), ...NEWEST };
  const waiting = await sent(id, byCustomer, { scheduled_at: TOMORROW });
  const before = await sent(id, byCustomer);
  const socket = await listen(id, byCustomer.token);

  const blocked = await act<Block>(actorId, 'block', BY_KEY);
  t.equal(blocked.status, 201);
  t.strictSame(blocked.body, {
    id: blocked.body.id,
    object: 'block',
    scope: 'account',
    actor: { ...customer.actor, external_id: null, username: null },
    blocked_by: blocked.body.blocked_by,
    created_at: blocked.body.created_at,
  });
  t.equal(blocked.body.blocked_by?.type, 'api_key');
  const again = await act<Block>(actorId, 'block', BY_ADA);
  t.strictSame([again.status, again.body], [200, blocked.body], 'once is enough');

  t.equal(refusalOf(await send(id, byCustomer)), FORBIDDEN);
  t.equal(refusalOf(await send(id, byCustomer, { scheduled_at: TOMORROW })), FORBIDDEN);
  const now = await app.call('POST', `/v1/messaging/messages/${waiting.id}/actions/send-now`, byCustomer);
  t.equal(refusalOf(now), '409 resource_conflict null');
  const typing = await socket.request('typing', { conversation_id: id, state: 'start' });
  t.match(typing, { error: { code: 'insufficient_permissions' } });
  const repeated = { client_message_id: before.client_message_id };
  t.equal((await send(id, byCustomer, repeated)).status, 201, 'a resend shows what was sent before');

  const reply = await sent(id, BY_ADA, { audience: 'customer' });
  const arrived = await socket.frame(({ event }) => event === 'message.created');
  t.equal(arrived.data?.id, reply.id, 'it goes on reading, on the same socket');
  const read = await app.call<Conversation>('POST', `${PATH}/${id}/actions/mark-read`, {
    ...byCustomer,
    body: { sequence: reply.sequence },
  });
  t.strictSame([read.body.unread, read.body.blocked], [0, true], 'and is shown why it cannot write');
  t.equal((await conversations.get(id, '', BY_ADA)).blocked, false, 'the team can');
  const cancel = await app.call('POST', `/v1/messaging/messages/${waiting.id}/actions/cancel`, byCustomer);
  t.equal(cancel.status, 200, 'what waits can be taken back');
  const another = await conversations.create({
    audience: 'customer',
    participants: [{ type: 'customer', actor_id: actorId }],
  });
  t.equal(refusalOf(await send(another.id, byCustomer)), FORBIDDEN, 'in new cases too');

  const ended = await act<Block>(actorId, 'unblock', BY_ADA);
  t.strictSame([ended.status, ended.body], [200, blocked.body]);
  t.equal((await send(id, byCustomer)).status, 201);
  t.equal(refusalOf(await act(actorId, 'unblock', BY_ADA)), '404 resource_not_found id');
  for (const [action, by] of [
    ['customer.unblocked', ada.id],
    ['customer.blocked', blocked.body.blocked_by!.id],
  ]) {
    const { data } = await conversations.ok<List<AuditEvent>>(
      'GET',
      `/v1/account/audit?action=${action}`,
      BY_KEY,
    );
    t.match(data, [{ action, conversation_id: null, actor: { id: by }, details: { actor_id: actorId } }]);
    t.equal(data.length, 1, 'once');
  }
});

t.test('a node that has not heard of a block refuses by what Postgres says', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const actorId = customer.actor!.id;
  const byCustomer = { token: await app.tokenOf(actorId), ...NEWEST };
  await sent(conversation.id, byCustomer);
  await database.kysely
    .insertInto('blocks')
    .values({ id: newId('block'), account_id: demo.account_id, actor_id: actorId, created_by: ada.id })
    .execute();
  await sql`UPDATE conversations SET roster_version = roster_version + 1 WHERE id = ${conversation.id}`.execute(
    database.kysely,
  );
  t.equal(refusalOf(await send(conversation.id, byCustomer)), FORBIDDEN, 'a case');

  const direct = await directOf(vera.id, BY_ADA);
  const first = await sent(direct.id, BY_ADA);
  const block = (isBlocked: boolean) =>
    database.kysely
      .updateTable('conversations')
      .set({ is_blocked: isBlocked })
      .where('id', '=', direct.id)
      .execute();
  await block(true);
  const answers = await Promise.all([1, 2, 3].map(() => send(direct.id, BY_ADA)));
  t.strictSame(answers.map(refusalOf), [FORBIDDEN, FORBIDDEN, FORBIDDEN], 'a direct message');
  await block(false);
  const next = await sent(direct.id, BY_ADA);
  t.ok(next.sequence! > first.sequence!);
  t.strictSame(
    (await messages(direct.id)).map(({ id }) => id),
    [next.id, first.id],
    'none has entered',
  );
});

t.test('a user blocks another: neither writes in their direct message', async (t) => {
  const direct = await directOf(grace.id, BY_ADA);
  const old = await sent(direct.id, BY_ADA);
  const waiting = await sent(direct.id, BY_ADA, { scheduled_at: TOMORROW });
  const group = await conversations.create({ participants: [{ type: 'user', actor_id: grace.id }] });
  const socket = await listen(direct.id, ada.access_token);

  const blocked = await act<Block>(ada.id, 'block', BY_GRACE);
  t.equal(blocked.status, 201);
  t.match(blocked.body, { scope: 'direct', actor: { id: ada.id }, blocked_by: { id: grace.id } });
  const told = await socket.frame(({ event }) => event === 'conversation.updated');
  t.equal(told.data?.id, direct.id, 'clients close their composer');
  for (const [who, options] of Object.entries({ ada: BY_ADA, grace: BY_GRACE, key: BY_KEY })) {
    t.equal(refusalOf(await send(direct.id, options)), FORBIDDEN, who);
    t.equal((await conversations.get(direct.id, '', options)).blocked, true);
  }
  t.equal('blocked' in (await conversations.get(direct.id)), false, 'older versions do not have it');
  t.equal(refusalOf(await send(direct.id, BY_ADA, { scheduled_at: TOMORROW })), FORBIDDEN);
  const patch = { ...BY_ADA, body: { body: 'but' } };
  t.equal(refusalOf(await app.call('PATCH', `/v1/messaging/messages/${old.id}`, patch)), FORBIDDEN);
  const now = await app.call('POST', `/v1/messaging/messages/${waiting.id}/actions/send-now`, BY_ADA);
  t.equal(refusalOf(now), '409 resource_conflict null');
  for (const options of [BY_ADA, BY_GRACE, BY_KEY]) {
    t.equal(refusalOf(await openDirect([ada.id, grace.id], options)), FORBIDDEN, 'nor is one begun');
  }
  const reaction = `/v1/messaging/messages/${old.id}/reactions/${encodeURIComponent('👍')}`;
  t.equal(refusalOf(await app.call('PUT', reaction, BY_ADA)), FORBIDDEN);
  t.equal((await app.call('DELETE', reaction, BY_ADA)).status, 200, 'taking back is possible');
  const pin = await app.call('POST', `/v1/messaging/messages/${old.id}/actions/pin`, BY_GRACE);
  t.equal(refusalOf(pin), FORBIDDEN);
  t.equal((await send(group.id, BY_ADA)).status, 201, 'groups go on');
  t.equal((await send(group.id, BY_GRACE)).status, 201);
  t.equal((await app.call('DELETE', `/v1/messaging/messages/${old.id}`, BY_ADA)).status, 200, 'deleting');

  t.equal((await act(grace.id, 'block', BY_ADA)).status, 201, 'each blocks for itself');
  t.equal((await act(ada.id, 'unblock', BY_GRACE)).status, 200);
  t.equal(refusalOf(await send(direct.id, BY_GRACE)), FORBIDDEN, 'the other block is there');
  await conversations.ok('DELETE', `${PATH}/${direct.id}`, BY_KEY);
  t.equal(refusalOf(await openDirect([ada.id, grace.id], BY_GRACE)), FORBIDDEN);
  await conversations.ok('POST', `${PATH}/${direct.id}/actions/restore`, BY_KEY);
  t.equal(refusalOf(await send(direct.id, BY_GRACE)), FORBIDDEN, 'also when it was deleted meanwhile');

  await conversations.ok('DELETE', `${PATH}/${direct.id}`, BY_KEY);
  t.equal((await act(grace.id, 'unblock', BY_ADA)).status, 200);
  await conversations.ok('POST', `${PATH}/${direct.id}/actions/restore`, BY_KEY);
  t.equal((await send(direct.id, BY_GRACE)).status, 201, 'a restored one is as the blocks are now');
  t.equal((await send(direct.id, BY_ADA)).status, 201);
});

t.test('blocks and sends at once: what was answered after the block is refused', async (t) => {
  const direct = await directOf(vera.id, BY_GRACE);
  const { conversation, customer } = await conversations.createCase();
  const places = [
    { id: direct.id, blocked: vera.id, by: BY_GRACE, sender: BY_GRACE },
    {
      id: conversation.id,
      blocked: customer.actor!.id,
      by: BY_ADA,
      sender: { token: await app.tokenOf(customer.actor!.id), ...NEWEST },
    },
  ];
  for (const { id, blocked, by, sender } of places) {
    for (let round = 0; round < 5; round++) {
      let isBlocked = false;
      const late: number[] = [];
      const all: number[] = [];
      const sending = Array.from({ length: 4 }, async () => {
        for (let n = 0; n < 6; n++) {
          const isLate = isBlocked;
          const { status } = await send(id, sender);
          all.push(status);
          if (isLate) late.push(status);
        }
      });
      const { status } = await act(blocked, 'block', by);
      isBlocked = true;
      await Promise.all(sending);
      t.equal(status, 201);
      t.ok(
        all.every((status) => status === 201 || status === 403),
        `${all}`,
      );
      t.ok(
        late.every((status) => status === 403),
        `${late}`,
      );
      t.equal(refusalOf(await send(id, sender)), FORBIDDEN);
      t.equal((await act(blocked, 'unblock', by)).status, 200);
      t.equal((await send(id, sender)).status, 201, 'and sends again');
    }
  }
  const starts = await Promise.all([
    openDirect([ada.id, vera.id], BY_ADA),
    act(vera.id, 'block', BY_ADA),
    openDirect([ada.id, vera.id], BY_VERA),
  ]);
  t.equal(starts[1]!.status, 201);
  const found = await database.kysely
    .selectFrom('conversations')
    .select('is_blocked')
    .where('direct_key', '=', [ada.id, vera.id].toSorted().join(' '))
    .execute();
  t.ok(
    found.every(({ is_blocked }) => is_blocked),
    'whichever came first',
  );
  await act(vera.id, 'unblock', BY_ADA);
});

t.test('the list: one’s own, and the customers that the caller may see', async (t) => {
  await sql`DELETE FROM blocks`.execute(database.kysely);
  const { customer: adas } = await conversations.createCase();
  const { customer: theirs } = await conversations.createCase({
    participants: [
      { type: 'customer', name: 'Carla' },
      { type: 'user', actor_id: grace.id },
    ],
  });
  const blocks: Block[] = [];
  for (const [id, by] of [
    [adas.actor!.id, BY_ADA],
    [theirs.actor!.id, BY_GRACE],
    [vera.id, BY_GRACE],
    [ada.id, BY_VERA],
  ] as const) {
    blocks.unshift((await act<Block>(id, 'block', by)).body);
  }
  const list = (options: CallOptions, query = '') =>
    conversations.ok<List<Block>>('GET', `/v1/messaging/blocks?${query}`, options);
  const [veras, graces, ofBoth, ofAda] = blocks;
  t.strictSame((await list(BY_GRACE)).data, [graces, ofBoth]);
  t.strictSame((await list(BY_VERA)).data, [veras]);
  t.strictSame((await list(BY_ADA)).data, [ofBoth, ofAda]);
  t.strictSame((await list(BY_KEY)).data, [ofBoth, ofAda], 'keys see no blocks of users');
  const first = await list(BY_ADA, 'limit=1');
  const second = await conversations.ok<List<Block>>('GET', first.page_info.next_page_url!, BY_ADA);
  t.strictSame([first.data, second.data], [[ofBoth], [ofAda]]);

  const erased = await app.call('POST', `/v1/users/${theirs.actor!.id}/actions/erase`, {
    ...BY_KEY,
    body: { messages: 'keep' },
  });
  t.ok(erased.status < 300, erased.text);
  t.strictSame((await list(BY_ADA)).data, [ofAda], 'an erasure ends it');
});

t.test('an invalid block is refused', async (t) => {
  const { customer } = await conversations.createCase();
  const customerId = customer.actor!.id;
  const byCustomer = { token: await app.tokenOf(customerId), ...NEWEST };
  const byAgent = { token: await app.tokenOf(demo.agent.actor_id), ...NEWEST };
  const calls: [what: string, id: string, options: CallOptions, expected: string][] = [
    [
      'nobody',
      customerId,
      { headers: { ...NEWEST.headers, Authorization: undefined } },
      '401 invalid_credentials Authorization',
    ],
    ['an older version', customerId, { token: demo.api_key }, '400 api_version_too_old Service-Version'],
    ['an absent actor', newId('actor'), BY_ADA, '404 resource_not_found id'],
    ['an agent', demo.agent.actor_id, BY_ADA, '422 validation_failed id'],
    ['an agent by its own id', demo.agent.id, BY_ADA, '422 validation_failed id'],
    ['oneself', ada.id, BY_ADA, '409 resource_conflict null'],
    ['a user by a key', ada.id, BY_KEY, FORBIDDEN],
    ['a customer without messaging:update', customerId, BY_VERA, FORBIDDEN],
    ['by the customer', ada.id, byCustomer, FORBIDDEN],
    ['by an agent', customerId, byAgent, FORBIDDEN],
    ['a customer of cases of others', customerId, BY_GRACE, '404 resource_not_found id'],
    ['another account', customerId, ELSEWHERE, '404 resource_not_found id'],
    ['a body', customerId, { ...BY_ADA, body: { for: 'ever' } }, '422 validation_failed for'],
  ];
  for (const [what, id, options, expected] of calls) {
    for (const action of ['block', 'unblock'] as const) {
      t.equal(
        refusalOf((await act(id, action, options)) as CallAnswer<Refusal>),
        expected,
        `${action}: ${what}`,
      );
    }
  }
  const options = { ...BY_ADA, headers: { ...NEWEST.headers, 'Idempotency-Key': randomUUID() } };
  const first = await act(customerId, 'block', options);
  await act(customerId, 'unblock', BY_ADA);
  const again = await act(customerId, 'block', options);
  t.strictSame([again.status, again.text], [201, first.text]);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  t.equal((await send(await caseOf(customerId), byCustomer)).status, 201, 'a replay does nothing again');
  const list = await app.call('GET', '/v1/messaging/blocks', byCustomer);
  t.equal(refusalOf(list), FORBIDDEN, 'customers have no list');
});

function act<Body = Refusal>(id: string, action: 'block' | 'unblock', options: CallOptions) {
  return app.call<Body>('POST', `/v1/messaging/actors/${id}/actions/${action}`, options);
}

function send(id: string, options: CallOptions, fields: object = {}): Promise<CallAnswer<Refusal>> {
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return app.call('POST', `${PATH}/${id}/messages`, { ...options, body });
}

async function sent(id: string, options: CallOptions, fields: object = {}): Promise<ChatMessage> {
  const { status, text } = await send(id, options, fields);
  if (status !== 201) throw new Error(`${status} ${text}`);
  return JSON.parse(text);
}

async function messages(id: string): Promise<readonly ChatMessage[]> {
  return (await conversations.ok<List<ChatMessage>>('GET', `${PATH}/${id}/messages`, BY_KEY)).data;
}

function openDirect(ids: readonly string[], options: CallOptions): Promise<CallAnswer<Refusal>> {
  const participants = ids.map((actor_id) => ({ type: 'user', actor_id }));
  return app.call('POST', PATH, { ...options, body: { type: 'direct_message', participants } });
}

async function directOf(actorId: string, options: CallOptions): Promise<Conversation> {
  return JSON.parse((await openDirect([actorId], options)).text);
}

async function caseOf(customerId: string): Promise<string> {
  const { conversation_id } = await database.kysely
    .selectFrom('participants')
    .select('conversation_id')
    .where('actor_id', '=', customerId)
    .executeTakeFirstOrThrow();
  return conversation_id;
}

async function listen(id: string, token: string): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Account': demo.account_id,
    'Service-Version': NEWEST_VERSION,
  };
  const socket = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => socket.close());
  await socket.frame('ready');
  await socket.request('subscribe', { conversation_id: id });
  return socket;
}
