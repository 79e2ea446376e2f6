/** Orders of events that happen by chance once in a million, each caused on purpose. */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { type Statement, statement } from '../../src/platform/db/connection/statement.ts';
import { until } from '../support/until.ts';
import { type Client, Ground } from './fixture.ts';

const ground = await Ground.start(t);
const { demo, database, engine } = ground;
const { group, direct } = demo.conversations;

t.test('a removal between the check and the subscription: refused, and nothing comes', async (t) => {
  const graceId = demo.users.grace.id;
  const grace = await ground.ready(demo.users.grace.access_token);
  const subscribe = engine.subscribe.bind(engine);
  const gate = Promise.withResolvers<void>();
  let isWaiting = false;
  // The right has been read by the time that the engine is asked.
  engine.subscribe = async (channel, listener) => {
    if (channel === direct) {
      isWaiting = true;
      await gate.promise;
    }
    return subscribe(channel, listener);
  };
  const asked = grace.request('subscribe', { conversation_id: direct, after_sequence: 0 });
  await until(() => isWaiting, { what: 'the subscription to be under way' });
  engine.subscribe = subscribe;
  await ground.setMember(direct, graceId, false);
  await grace.request('ping');
  gate.resolve();
  t.match(await asked, { ok: false, error: { code: 'resource_not_found', param: 'conversation_id' } });
  await ground.publish(direct, { event: 'draft.created', team: { id: 'msg_secret' } });
  await grace.request('ping');
  t.notOk(JSON.stringify(grace.frames).includes('msg_secret'));

  await ground.setMember(direct, graceId, true);
  t.ok((await grace.request('subscribe', { conversation_id: direct })).ok, 'nothing of it is left');
  await ground.publish(direct, { event: 'draft.created', team: { id: 'msg_public' } });
  await grace.frame(({ data }) => data?.id === 'msg_public');
  grace.close();
});

t.test('a node that begins to stop between the handshake and the socket: goaway', async (t) => {
  const leaving = await Ground.start(t);
  const { authenticator } = leaving;
  const authenticate = authenticator.authenticate.bind(authenticator);
  let drained: Promise<void> | undefined;
  authenticator.authenticate = async (authorization) => {
    const principal = await authenticate(authorization);
    drained = leaving.gateway.drain('deploy', 60_000);
    return principal;
  };
  const client = await leaving.ready();
  t.match(await client.frame('goaway'), { reconnect_in_ms: 0, deadline_ms: 60_000, reason: 'deploy' });
  client.close();
  await drained;
});

t.test('an edit that overtakes its message comes behind it', async (t) => {
  const client = await subscribed();
  const sequence = (await head()) + 1;
  const id = newId('message');
  const at = (microsecond: number) => `2026-11-21T01:02:03.00000${microsecond}Z`;
  const event = (name: 'message.created' | 'message.updated', microsecond: number, body: string) =>
    ground.publish(group, {
      event: name,
      sequence,
      resource: id,
      at: at(microsecond),
      team: { id, body },
    });
  await event('message.updated', 3, 'second edit');
  await event('message.updated', 2, 'first edit');
  await event('message.created', 1, 'as it was sent');
  await event('message.updated', 2, 'first edit');
  await client.request('ping');
  const bodies = client.frames.filter(({ sequence: n }) => n === sequence).map(({ data }) => data?.body);
  t.strictSame(bodies, ['as it was sent', 'second edit'], 'and an older edit not behind a newer one');
  client.close();
});

t.test('an edit whose message was lost: read from Postgres, once, as it is now', async (t) => {
  const { conversation, client } = await freshConversation();
  await insert(conversation, 1, 'edited');
  const [row] = await database.query(
    statement<[conversation: string], { updated_at: string }>('test-updated-at')`
    SELECT updated_at FROM messages WHERE conversation_id = $1`,
    conversation,
  );
  await ground.publish(conversation, {
    event: 'message.updated',
    sequence: 1,
    resource: idOf(conversation, 1),
    at: String(row?.updated_at),
    team: { id: idOf(conversation, 1), body: 'edited' },
  });
  await client.frame(({ event }) => event === 'message.created');
  await client.request('ping');
  t.strictSame(
    client.frames.filter(({ type }) => type === 'event').map(({ event, data }) => [event, data?.body]),
    [['message.created', 'edited']],
  );
  client.close();
});

for (const end of ['COMMIT', 'ROLLBACK'] as const) {
  t.test(`a number whose owner is late, behind a higher one that is there: ${end}`, async (t) => {
    const { conversation, client } = await freshConversation();
    const gate = Promise.withResolvers<void>();
    const late = database.transaction(async (tx) => {
      await tx.query(...insertion(conversation, 1, 'late'));
      await gate.promise;
    });
    const ended = late.catch(() => undefined);
    await insert(conversation, 2, 'early');
    await ground.publish(conversation, {
      event: 'message.created',
      sequence: 2,
      resource: idOf(conversation, 2),
      team: { id: idOf(conversation, 2), body: 'early' },
    });
    // Past the time at which a hole is given up: the void waits for the owner's transaction.
    await until(isVoidWaiting, { what: 'the void to wait for the owner' });
    t.notOk(
      client.frames.some(({ event }) => event === 'message.created'),
      'nobody is taken past it',
    );
    if (end === 'COMMIT') gate.resolve();
    else gate.reject(new Error('the owner dies'));
    await ended;
    await client.frame(({ data }) => data?.body === 'early');
    t.strictSame(
      client.frames.filter(({ event }) => event === 'message.created').map(({ sequence }) => sequence),
      end === 'COMMIT' ? [1, 2] : [2],
    );
    client.close();
  });
}

t.test(
  'a cursor handed out behind an edit that is committed and not delivered yet: it brings the edit',
  async (t) => {
    const beating = await Ground.start(t, { limits: { heartbeatMs: 100 } });
    const { group } = beating.demo.conversations;
    await beating.storeMessages(group, 1);
    const client = await beating.ready();
    await client.request('subscribe', { conversation_id: group });
    await client.frame('caught_up');
    // Keeps the frame from being published after the commit.
    await beating.database.query(
      {
        name: 'test-edit',
        text: `UPDATE messages SET body = 'edited', updated_at = later_than(updated_at),
        changed_in = pg_current_xact_id() WHERE conversation_id = $1`,
      },
      group,
    );
    const committedAtMs = Date.now();
    // Cursors are made of snapshots that are taken every second: two of them have seen the commit
    // by then.
    const { cursor } = await client.frame(
      ({ type, t }) => type === 'ping' && Number(t) > committedAtMs + 2_200,
    );
    t.notOk(client.frames.some(({ event }) => event === 'message.updated'));
    client.socket.terminate();

    const again = await beating.ready();
    await again.request('resume', { cursor, conversations: { [group]: 1 } });
    await again.frame('resumed');
    const events = again.frames.filter(({ event }) => event?.startsWith('message.') === true);
    t.strictSame(
      events.map(({ event, sequence, data }) => [event, sequence, data?.body]),
      [['message.updated', 1, 'edited']],
    );
    again.close();
  },
);

async function subscribed(conversation = group): Promise<Client> {
  const client = await ground.ready();
  await client.request('subscribe', { conversation_id: conversation });
  await client.frame('caught_up');
  return client;
}

async function head(): Promise<number> {
  const [row] = await database.query(
    statement<[group: string], { head: number }>('test-head')`
    SELECT coalesce(max(sequence), 0)::int AS head FROM messages WHERE conversation_id = $1`,
    group,
  );
  return row?.head ?? 0;
}

/** A conversation of ada's with no message in it, and a socket on it. */
async function freshConversation(): Promise<{ conversation: string; client: Client }> {
  const conversation = newId('conversation');
  await database.query(
    {
      name: 'test-copy-conversation',
      text: `INSERT INTO conversations (id, account_id, type, audience, title)
        SELECT $1, account_id, type, audience, 'Quay' FROM conversations WHERE id = $2`,
    },
    conversation,
    group,
  );
  await database.query(
    {
      name: 'test-copy-participant',
      text: `INSERT INTO participants (id, account_id, conversation_id, actor_id, type)
        SELECT $1, account_id, $2, actor_id, type FROM participants WHERE conversation_id = $3 AND actor_id = $4`,
    },
    newId('participant'),
    conversation,
    group,
    demo.users.ada.id,
  );
  return { conversation, client: await subscribed(conversation) };
}

async function isVoidWaiting(): Promise<boolean> {
  const rows = await database.query({
    name: 'test-waiting-void',
    text: `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
      AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO messages%'`,
  });
  return rows.length > 0;
}

async function insert(conversation: string, sequence: number, body: string): Promise<void> {
  await database.query(...insertion(conversation, sequence, body));
}

function insertion(
  conversation: string,
  sequence: number,
  body: string,
): [Statement, ...(string | number)[]] {
  const text = `
    INSERT INTO messages
      (id, account_id, conversation_id, sequence, kind, status, visibility, body, author_id, sender_id)
    VALUES ($1, $2, $3, $4, 'chat', 'sent', 'internal', $5, $6, $6)`;
  const { account_id: accountId, users } = demo;
  return [
    { name: 'test-insert-message', text },
    idOf(conversation, sequence),
    accountId,
    conversation,
    sequence,
    body,
    users.ada.id,
  ];
}

function idOf(conversation: string, sequence: number): string {
  return `msg_${conversation}${sequence}`;
}
