/**
 * Events of conversations and participants on sockets (docs/realtime.md#events), on a whole server.
 */

import { randomUUID } from 'node:crypto';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import {
  conversationEvents,
  membershipEvents,
  participantEvents,
} from '../../src/core/conversations/events.ts';
import type { Since } from '../../src/core/events/event-source.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { Client, type ReceivedFrame } from '../gateway/fixture.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { borrowTestApp } from '../support/app.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const USER = { type: 'user', actor_id: grace.id };
const reads = { database: app.database, files: { presignDownload: async () => '' } };

t.test('subscribers see the conversation change', async (t) => {
  const { id } = await conversations.create({ title: 'Pier', participants: [USER] });
  const socket = await open(t, grace.access_token);
  await subscribe(socket, id);
  const updated = await conversations.update(id, { title: 'Quay' });
  const frame = await socket.frame(named('conversation.updated'));
  const { status: _, unread: __, ...data } = updated;
  t.strictSame(frame, {
    type: 'event',
    event: 'conversation.updated',
    conversation_id: id,
    at: updated.updated_at,
    data: { ...data, last_message_at: frame.data?.last_message_at },
  });

  const held = await conversations.ok<Conversation>('POST', `${PATH}/${id}/actions/set-legal-hold`, {
    body: { legal_hold: 'held' },
  });
  t.match(await socket.frame((frame) => frame.data?.legal_hold === 'held'), { at: held.updated_at });
});

t.test('subscribers see participants come, change and go', async (t) => {
  const { id } = await conversations.create({ participants: [USER] });
  const socket = await open(t, grace.access_token);
  await subscribe(socket, id);
  const added = await conversations.add(id, { type: 'user', actor_id: vera.id });
  const path = `${PATH}/${id}/participants/${added.id}`;
  const changed = await conversations.ok<Participant>('PATCH', path, { body: { role: 'admin' } });
  const removed = await conversations.ok<Participant>('DELETE', path);
  await socket.frame(named('participant.removed'));
  const events = socket.frames.filter(({ event }) => event?.startsWith('participant.'));
  // Each event reads its resource as it stands then.
  const byName = new Map(events.map((frame) => [frame.event, frame]));
  t.strictSame(byName.get('participant.removed'), {
    type: 'event',
    event: 'participant.removed',
    conversation_id: id,
    at: byName.get('participant.removed')?.at,
    data: { ...removed },
  });
  for (const frame of events) t.match(frame, { conversation_id: id, data: { id: added.id } });
  t.ok(changed.role === 'admin');

  const quiet = await conversations.add(id, { type: 'user', actor_id: vera.id });
  const back = await socket.frame(
    (frame) => frame.event === 'participant.added' && frame.data?.role === 'member',
  );
  t.strictSame(back.data, { ...quiet });
  await conversations.ok('PATCH', path, { body: { role: 'viewer' } });
  const update = await socket.frame((frame) => frame.data?.role === 'viewer');
  t.strictSame([update.event, update.data], ['participant.updated', { ...quiet, role: 'viewer' }]);
});

t.test(
  'an added actor gets the event on its own feed, and a removed one loses the conversation',
  async (t) => {
    const { id } = await conversations.create({ title: 'Feed' });
    const socket = await open(t, grace.access_token);
    const participant = await conversations.add(id, USER);
    const frame = await socket.frame(named('conversation.added'));
    const shown = await conversations.get(id, '', { token: grace.access_token });
    t.strictSame(frame.data, {
      ...shown,
      unread: frame.data?.unread,
      last_message_at: frame.data?.last_message_at,
    });
    t.equal(frame.conversation_id, undefined, 'an event of the feed');

    await subscribe(socket, id);
    await conversations.ok('DELETE', `${PATH}/${id}/participants/${participant.id}`);
    t.match(await socket.frame('resync'), { conversation_id: id, reason: 'revoked' });
    const removed = await socket.frame(named('conversation.removed'));
    t.strictSame(removed.data, { id, object: 'conversation' });

    const sent = await send(id);
    await conversations.create({ participants: [USER] });
    await until(() => socket.frames.filter(named('conversation.added')).length === 2, {
      what: 'the next one',
    });
    t.notOk(
      socket.frames.some(({ data }) => data?.id === sent.id),
      'nothing more of what it cannot read',
    );
  },
);

t.test('the team receives read positions', async (t) => {
  const { id } = await conversations.create({ participants: [USER] });
  const { sequence } = await send(id);
  const socket = await open(t, ada.access_token);
  await subscribe(socket, id);
  const body = { sequence };
  await conversations.ok('POST', `${PATH}/${id}/actions/mark-read`, { body, token: grace.access_token });
  const frame = await socket.frame(named('read'));
  t.strictSame(frame.data, { actor_id: grace.id, sequence });
});

t.test("customers receive events of their own cases, and none of the team's work", async (t) => {
  const { conversation, customer } = await conversations.createCase({ title: 'Parcel' });
  const { id } = conversation;
  const token = await app.tokenOf(customer.actor!.id);
  const socket = await open(t, token);
  await subscribe(socket, id);
  const participant = await conversations.add(id, USER);
  await conversations.update(id, { title: 'Lost parcel', workflow_status: 'open', assignee_id: grace.id });
  await conversations.ok('POST', `${PATH}/${id}/actions/set-legal-hold`, { body: { legal_hold: 'held' } });
  await conversations.ok('POST', `${PATH}/${id}/actions/mark-read`, { body: { sequence: 1 } });
  await conversations.ok('DELETE', `${PATH}/${id}/participants/${participant.id}`);
  const reply = await send(id, { audience: 'customer' });
  await socket.frame((frame) => frame.data?.id === reply.id);

  const { conversation: other } = await conversations.createCase({
    participants: [{ type: 'customer', actor_id: customer.actor!.id }],
  });
  // That of the first case may reach the socket too: effects follow behind the answer.
  const added = await socket.frame(
    (frame) => named('conversation.added')(frame) && frame.data?.id === other.id,
  );
  t.strictSame(added.data, { ...(await conversations.get(other.id, '', { token })) });
  t.match(added.data, { workflow_status: null, legal_hold: 'released' });
  await conversations.ok('DELETE', `${PATH}/${id}/participants/${customer.id}`);
  await socket.frame(named('conversation.removed'));
  t.strictSame([...new Set(socket.frames.flatMap(({ event }) => event ?? []))].sort(), [
    'conversation.added',
    'conversation.removed',
    'message.created',
  ]);
  t.notMatch(JSON.stringify(socket.frames), new RegExp(`${grace.id}|${ada.id}|Grace|Ada|waiting|held`));
});

t.test('events lost by a broken link are read again, for subscribers and feeds', async (t) => {
  const unchanged = await conversations.create();
  const { id } = await conversations.create({ title: 'Old', participants: [USER] });
  const [, member] = await conversations.members(id);
  const { conversation: aCase, customer } = await conversations.createCase();
  const since = await currentTransaction();
  await conversations.update(id, { title: 'New' });
  await conversations.ok('DELETE', `${PATH}/${id}/participants/${member!.id}`);
  const added = await conversations.add(id, { type: 'user', actor_id: vera.id });
  const known = await conversations.add(aCase.id, USER);
  await conversations.ok('PATCH', `${PATH}/${aCase.id}/participants/${known.id}`, {
    body: { role: 'viewer' },
  });
  await conversations.ok('DELETE', `${PATH}/${aCase.id}/participants/${customer.id}`);

  const ids = [unchanged.id, id, aCase.id];
  const events = await missedBySubscribers(ids, since);
  t.strictSame(
    inAnyOrder(events.map(({ event, stream, resource, customer }) => [event, stream, resource, customer])),
    inAnyOrder([
      ['conversation.updated', id, id, undefined],
      ['participant.added', id, added.id, undefined],
      ['participant.removed', aCase.id, customer.id, undefined],
      ['participant.removed', id, member!.id, undefined],
      ['participant.updated', aCase.id, known.id, undefined],
    ]),
  );
  const actors = [ada.id, grace.id, vera.id, customer.actor!.id];
  const feeds = await membershipEvents.changed.actor.since(reads, actors, since);
  t.strictSame(
    inAnyOrder(
      feeds.map(({ event, stream, resource, team }) => [event, stream, resource, team !== undefined]),
    ),
    inAnyOrder([
      ['conversation.added', grace.id, aCase.id, true],
      ['conversation.added', vera.id, id, true],
      ['conversation.removed', customer.actor!.id, aCase.id, false],
      ['conversation.removed', grace.id, id, true],
    ]),
  );
  t.strictSame(await missedBySubscribers([unchanged.id], since), []);
});

async function missedBySubscribers(ids: readonly string[], since: Since) {
  const sources = [conversationEvents, participantEvents];
  return (
    await Promise.all(sources.map(({ changed }) => changed.conversation.since(reads, ids, since)))
  ).flat();
}

async function currentTransaction(): Promise<Since> {
  const current = statement<[], Since>('test-current-xact')`
    SELECT pg_current_xact_id() AS xid, now() AS began`;
  const [row] = await app.database.query(current);
  return row!;
}

async function open(t: Teardown, token: string): Promise<Client> {
  const url = `${app.baseUrl.replace('http', 'ws')}/v1/realtime`;
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': demo.service_version,
    'Service-Account': demo.account_id,
  };
  const socket = new Client(new WebSocket(url, { headers }));
  t.teardown(() => socket.close());
  await socket.frame('ready');
  return socket;
}

async function subscribe(socket: Client, id: string): Promise<void> {
  await socket.request('subscribe', { conversation_id: id });
  await socket.frame((frame) => frame.type === 'caught_up' && frame.conversation_id === id);
}

function named(event: string): (frame: ReceivedFrame) => boolean {
  return (frame) => frame.event === event;
}

function send(id: string, fields: object = {}): Promise<{ id: string; sequence: number }> {
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return conversations.ok('POST', `${PATH}/${id}/messages`, { body });
}
