/**
 * Events of drafts, schedules, edits and deletions on sockets, and those that customers do not get
 * (docs/realtime.md#events).
 */

import t from 'tap';
import { WebSocket } from 'ws';
import type { Since } from '../../src/core/events/event-source.ts';
import { unsentEvents } from '../../src/core/messages/events.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { Client, type ReceivedFrame } from '../gateway/fixture.ts';
import { borrowTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { type Case, Cases, message } from './cases.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace } = demo.users;
const cases = new Cases(app);
const LINK = { kind: 'link', url: 'https://example.com/manual' };
const EXPANDED = 'include[]=sender&include[]=attachments';

t.test('a draft from its proposal to its end, for the team alone', async (t) => {
  const { team, customer, id } = await subscribed(t);
  const draft = await cases.draft(id, { attachments: [LINK] });
  const created = await event(team, 'draft.created', draft.id);
  const shown = await cases.read(draft.id, EXPANDED);
  t.strictSame(created, {
    type: 'event',
    event: 'draft.created',
    conversation_id: id,
    at: draft.updated_at,
    data: { ...shown, outcome: null },
  });

  const edit = { token: ada.access_token, body: { body: 'better' } };
  const edited = message(await app.call('PATCH', `/v1/messaging/messages/${draft.id}`, edit), 200);
  t.match(await event(team, 'draft.updated', draft.id, edited.updated_at), {
    data: { body: 'better', status: 'draft', outcome: null },
  });
  await cases.act('reject', draft.id);
  const rejected = await cases.read(draft.id, EXPANDED);
  const { at } = await outcome(draft.id);
  t.strictSame((await event(team, 'draft.updated', draft.id, rejected.updated_at)).data, {
    ...rejected,
    outcome: { result: 'rejected', reason: null, at },
  });

  const next = await cases.draft(id);
  const sent = message(await cases.act('approve', next.id, { query: EXPANDED }), 200);
  t.strictSame(await event(team, 'message.created', next.id), {
    type: 'event',
    event: 'message.created',
    conversation_id: id,
    sequence: sent.sequence,
    at: sent.updated_at,
    data: sent,
  });
  t.match(await event(team, 'draft.updated', next.id), {
    sequence: sent.sequence,
    data: { status: 'sent', sequence: sent.sequence, outcome: { result: 'sent' } },
  });
  const received = await event(customer, 'message.created', next.id);
  const created_at = String(received.data?.created_at);
  t.ok(created_at > sent.created_at, 'to customers a message is created when it is sent');
  t.strictSame(received.data, { ...sent, created_at });
  t.strictSame(eventsOf(customer), ['message.created'], 'that is all the customer learns');
});

t.test('a reader that was away receives drafts that are new to it as created', async (t) => {
  const { team, id } = await subscribed(t);
  const { cursor } = await team.frame('ready');
  const [untouched, edited, rejected, older] = [
    await cases.draft(id),
    await cases.draft(id),
    await cases.draft(id),
    await cases.draft(id),
  ];
  const edit = (draft: string) =>
    app.call('PATCH', `/v1/messaging/messages/${draft}`, {
      token: ada.access_token,
      body: { body: 'better' },
    });
  await edit(edited.id);
  await cases.act('reject', rejected.id);
  await app.database.kysely
    .updateTable('messages')
    .set({ created_at: new Date(Date.now() - 86_400_000).toISOString() })
    .where('id', '=', older.id)
    .execute();
  await edit(older.id);
  // All of them are published before the other reader joins, so that it gets nothing of them live.
  const unpublished = app.database.kysely.selectFrom('outbox').select('id');
  await until(async () => (await unpublished.execute()).length === 0, { what: 'the outbox to be empty' });

  const back = connected(t, ada.access_token);
  await back.frame('ready');
  back.send({ type: 'resume', id: 'r', cursor, conversations: { [id]: 0 } });
  await back.frame('resumed');
  const received = back.frames.flatMap(({ event: name, data }) =>
    name?.startsWith('draft.') ? [`${name} ${data?.id} ${data?.body}`] : [],
  );
  t.strictSame(
    new Set(received),
    new Set([
      `draft.created ${untouched.id} ${untouched.body}`,
      `draft.created ${edited.id} better`,
      `draft.updated ${rejected.id} ${rejected.body}`,
      `draft.updated ${older.id} better`,
    ]),
  );
});

t.test('a superseded draft is published', async (t) => {
  const { team, id } = await subscribed(t);
  const note = await cases.sent(id);
  const source = { source_thread_message_id: note.id };
  const [older, newer] = [await cases.draft(id, source), await cases.draft(id, source)];
  t.match(await event(team, 'draft.updated', older.id), {
    data: { status: 'superseded', outcome: { result: 'superseded' } },
  });
  await event(team, 'draft.created', newer.id);
});

t.test('a schedule that is canceled', async (t) => {
  const { team, customer, id } = await subscribed(t);
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await cases.sent(id, { scheduled_at, audience: 'customer' });
  t.match(await event(team, 'scheduled.updated', scheduled.id), { data: { outcome: null } });
  const canceled = message(await cases.act('cancel', scheduled.id), 200);
  t.match(await event(team, 'scheduled.updated', scheduled.id, canceled.updated_at), {
    data: { status: 'canceled', outcome: { result: 'canceled', at: String } },
  });
  t.strictSame(eventsOf(customer), []);
});

t.test('edits and tombstones reach readers that saw the message', async (t) => {
  const { team, customer, id } = await subscribed(t);
  const note = await cases.sent(id);
  const reply = await cases.sent(id, { audience: 'customer', attachments: [LINK] });
  for (const { id: of } of [note, reply]) {
    const path = `/v1/messaging/messages/${of}`;
    const options = { token: grace.access_token };
    await app.call('PATCH', path, { ...options, body: { body: 'edited' } });
    // Its key is shown to the author alone, and never in events.
    const edited = { ...(await cases.read(of, EXPANDED)), client_message_id: null };
    t.strictSame(await event(team, 'message.updated', of, edited.updated_at), {
      type: 'event',
      event: 'message.updated',
      conversation_id: id,
      sequence: edited.sequence,
      at: edited.updated_at,
      data: edited,
    });
    await app.call('DELETE', path, options);
    const tombstone = { ...(await cases.read(of, EXPANDED)), client_message_id: null };
    t.match(tombstone, { body: null, attachments: [], deleted_at: String });
    t.strictSame((await event(team, 'message.updated', of, tombstone.updated_at)).data, tombstone);
    if (of === reply.id) {
      t.strictSame((await event(customer, 'message.updated', of, tombstone.updated_at)).data, tombstone);
    }
  }
  t.notMatch(JSON.stringify(customer.frames), new RegExp(`${note.id}|${grace.id}`));
});

t.test('missed events outside the timeline can be requested', async (t) => {
  const { id } = await cases.open();
  const { id: other } = await cases.open();
  const [before] = await database.query(
    statement<[], Since>('test-xid')`SELECT pg_current_xact_id() AS xid, now() AS began`,
  );
  const approved = await cases.draft(id);
  const open = await cases.draft(id);
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await cases.sent(id, { scheduled_at });
  await cases.sent(id);
  await cases.draft(other);
  const sent = message(await cases.act('approve', approved.id), 200);
  const files = { presignDownload: async () => '' };
  const missed = await unsentEvents.changed.conversation.since({ database, files }, [id], before!);
  t.strictSame(
    missed.map(({ event, resource, sequence, customer }) => [event, resource, sequence, customer]),
    [
      ['draft.created', open.id, 0, undefined],
      ['scheduled.updated', scheduled.id, 0, undefined],
      ['draft.updated', approved.id, sent.sequence, undefined],
    ],
  );
  const [now] = await database.query(
    statement<[], Since>('test-xid')`SELECT pg_current_xact_id() AS xid, now() AS began`,
  );
  t.strictSame(await unsentEvents.changed.conversation.since({ database, files }, [id], now!), []);
});

interface Subscribed extends Case {
  readonly team: Client;
  readonly customer: Client;
}

/** A new case with a socket of ada's and one of its customer's on it. */
async function subscribed(t: { teardown(run: () => void): void }): Promise<Subscribed> {
  const ownCase = await cases.open();
  const [team, customer] = await Promise.all(
    [ada.access_token, ownCase.customerToken].map(async (token) => {
      const client = connected(t, token);
      await client.frame('ready');
      client.send({ type: 'subscribe', id: 's', conversation_id: ownCase.id });
      await client.frame('caught_up');
      return client;
    }),
  );
  return { ...ownCase, team: team!, customer: customer! };
}

function connected(t: { teardown(run: () => void): void }, token: string): Client {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': demo.service_version,
    'Service-Account': demo.account_id,
  };
  const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => client.close());
  return client;
}

/** The first such event of a message; `at` that moment where given. */
function event(client: Client, name: string, id: string, at?: string): Promise<ReceivedFrame> {
  return client.frame(
    (frame) => frame.event === name && frame.data?.id === id && (at === undefined || frame.at === at),
  );
}

function eventsOf({ frames }: Client): (string | undefined)[] {
  return frames.filter(({ type }) => type === 'event').map((frame) => frame.event);
}

async function outcome(id: string): Promise<{ at: string | null }> {
  const { body } = await app.call<{ at: string | null }>('GET', `/v1/messaging/messages/${id}/outcome`);
  return body;
}
