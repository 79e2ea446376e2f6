/** Polls (docs/realtime.md#without-websockets): a session that ends with its first event. */

import { setTimeout as delay } from 'node:timers/promises';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import t from 'tap';
import { createApiKey, revokeApiKey } from '../../src/core/accounts/keys/keys.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { Delivered } from '../../src/edge/gateway/answers/delivered.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { setTouched } from '../../src/platform/db/tables/touched.ts';
import {
  type AnswerFrame,
  PollClient,
  Poller,
  type PollResult,
  poll,
  StreamClient,
} from '../support/answer-clients.ts';
import type { Teardown } from '../support/teardown.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { Ground } from './fixture.ts';

const ground = await Ground.start(t, { limits: { pollsPerSecond: 1_000_000, socketsPerActor: 1_000 } });
const { demo, database } = ground;
const { group, direct, case: supportCase } = demo.conversations;
const { ada, grace } = demo.users;

/** No time to wait for events: what was missed is all there is. */
const NOW = { wait_ms: 0 };

t.test('without an event, the answer comes when the time is up', async (t) => {
  const { status, headers, frames, cursor } = await ground.poll(NOW);
  t.equal(status, 200);
  t.match(headers, {
    'content-type': 'application/json',
    'cache-control': 'no-cache, no-transform',
    'ratelimit-limit': '1000000',
  });
  t.strictSame(
    frames.map(({ type }) => type),
    ['ready'],
    'no hello, no ping',
  );
  t.match(frames[0], { actor: { id: ada.id }, account_id: demo.account_id });
  t.match(cursor, /^[\w-]+\.[\w-]+~/);
});

t.test('what was missed comes at once, in order, and once', async (t) => {
  await ground.storeMessages(direct, 3);
  const first = await ground.poll({ subscribe: [of(direct, 1)] });
  t.strictSame(types(first), ['ready', 'reply', 'event', 'event', 'caught_up']);
  t.match(first.frames[1], { id: direct, ok: true, result: { head_sequence: 3 } });
  t.strictSame(sequences(first), [2, 3]);
  const next = await ground.poll({ cursor: first.cursor, conversations: { [direct]: 3 }, ...NOW });
  t.strictSame(sequences(next), []);
  t.strictSame(
    types(next).filter((type) => type !== 'event'),
    ['ready', 'reply', 'caught_up', 'resumed'],
  );
  const behind = await ground.poll({ cursor: next.cursor, conversations: { [direct]: 1 } });
  t.strictSame(sequences(behind), [2, 3], 'what the client says that it has decides');
});

t.test('an event ends the wait', async (t) => {
  const client = poller(t, group);
  for (let n = 0; n < 3; n++) {
    await publishTo(client, group, { event: 'draft.created', team: { id: `msg_${n}` } });
    await publishTo(client, ada.id, { event: 'notification.created', team: { id: `ntf_${n}` } });
  }
  const ids = client.frames.flatMap(({ data }) => data?.id ?? []).filter((id) => /^(msg|ntf)/.test(`${id}`));
  t.strictSame(ids, ['msg_0', 'ntf_0', 'msg_1', 'ntf_1', 'msg_2', 'ntf_2'], 'each once');
  client.stop();
});

t.test('the cursor of a poll serves streams and sockets', async (t) => {
  const { cursor } = await ground.poll({ subscribe: [of(direct, 3)], ...NOW });
  const stream = await ground.stream({ cursor, conversations: { [direct]: 2 } });
  await stream.frame('resumed');
  t.strictSame(
    stream.events('message.created').map(({ sequence }) => sequence),
    [3],
  );
  stream.close();
  const socket = await ground.ready();
  t.ok((await socket.request('resume', { cursor, conversations: { [direct]: 2 } })).ok);
  t.match(await socket.frame('resumed'), { cursor: /^[^~]+$/ });
  socket.close();
  const { cursor: back } = await socket.frame('resumed');
  const again = await ground.poll({ cursor: back, conversations: { [direct]: 2 }, ...NOW });
  t.strictSame(sequences(again), [3]);
});

t.test('refused subscriptions and lost rights end the wait', async (t) => {
  const refused = await ground.poll({ subscribe: [of('cnv_nothere')] });
  t.match(refused.frames.at(-1), { type: 'reply', id: 'cnv_nothere', ok: false });

  const client = poller(t, group, grace.access_token);
  await until(() => client.polls > 0, { what: 'its first answer' });
  const { cursor } = client;
  await ground.setMember(group, grace.id, false);
  t.match(await client.frame(({ type }) => type === 'resync'), { conversation_id: group, reason: 'revoked' });
  client.stop();
  const after = await ground.poll({ cursor, conversations: { [group]: 0 }, ...NOW }, grace.access_token);
  t.match(frameIn(after.frames, 'resync'), { conversation_id: group }, 'and with the next poll');
  await ground.setMember(group, grace.id, true);
});

t.test('a key that is revoked while a poll waits', async (t) => {
  const { id } = await findRole(database, demo.account_id, 'admin');
  const { key, apiKey } = await database.transaction((tx) =>
    createApiKey(tx, { accountId: demo.account_id, name: 'Poll', roleId: id }),
  );
  const { cursor: first } = await ground.poll(NOW, key);
  // Ends with the summary of its inbox, after which nothing is left that would end the next one.
  const { cursor: before } = await ground.poll({ cursor: first }, key);
  const waiting = new PollClient(ground.answering(key), { cursor: before });
  await waiting.begins();
  await database.transaction((tx) => revokeApiKey(tx, apiKey.id));
  await ground.rights.announce(apiKey.id);
  const { frames, cursor } = await waiting.answer;
  t.strictSame(frames.at(-1), { type: 'close', code: 4202, reason: 'credentials_revoked' });
  t.equal(cursor.split('~')[0], before.split('~')[0], 'where the client was');
  t.match(await ground.poll({ cursor }, key), { status: 401, error: { code: 'api_key_revoked' } });
});

t.test('a cursor that no node issued', async (t) => {
  for (const cursor of ['x', 'x.y', `${(await ground.poll(NOW)).cursor.replace('.', '.A')}`]) {
    const { status, frames } = await ground.poll({ cursor });
    t.equal(status, 200);
    t.match(frames.at(-2), { type: 'reply', id: 'resume', ok: false, error: { param: 'cursor' } });
    t.strictSame(frames.at(-1), { type: 'close', code: 4300, reason: 'cursor_invalid' });
  }
});

t.test('refused before it begins, in the form of REST', async (t) => {
  const { baseUrl, headers } = ground.answering();
  const without = (name: string) =>
    Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name));
  const cases: [Record<string, string>, object, number, string, string?][] = [
    [without('Authorization'), {}, 401, 'invalid_credentials'],
    [{ ...headers, 'Service-Version': '1.2.harbor' }, {}, 400, 'api_version_too_old'],
    [{ ...headers, 'Service-Account': demo.other_account.account_id }, {}, 404, 'resource_not_found'],
    [headers, { wait_ms: 25_001 }, 422, 'validation_failed', 'wait_ms'],
    [headers, { wait_ms: -1 }, 422, 'validation_failed', 'wait_ms'],
    [headers, { wait_ms: '1' }, 400, 'invalid_format', 'wait_ms'],
    [headers, { presence: 'offline' }, 422, 'validation_failed', 'presence'],
    [headers, { cursor: 'x'.repeat(8_193) }, 422, 'validation_failed', 'cursor'],
  ];
  for (const [sent, body, status, code, param] of cases) {
    const refused = await poll({ baseUrl, headers: sent }, body);
    t.match(refused, { status, error: { code, ...(param === undefined ? {} : { param }) } }, code);
  }
});

t.test('a customer polls its case, and gets nothing of the team', async (t) => {
  const token = demo.customer.access_token;
  const body = { subscribe: [of(supportCase), of(group)], ...NOW };
  const { frames } = await ground.poll(body, token);
  t.match(
    frames.find(({ id }) => id === supportCase),
    { ok: true },
  );
  t.match(
    frames.find(({ id }) => id === group),
    { ok: false, error: { code: 'resource_not_found' } },
  );
  t.notOk(frames.some(({ event }) => event === 'presence'));
});

t.test('an actor has a number of polls in a second, beside all other limits', async (t) => {
  const few = await Ground.start(t, { limits: { pollsPerSecond: 3 } });
  const beganMs = performance.now();
  const asked = await Promise.all(Array.from({ length: 60 }, () => few.poll(NOW)));
  const seconds = 2 + Math.floor((performance.now() - beganMs) / 1_000);
  const refused = asked.filter(({ status }) => status === 429);
  const answered = asked.length - refused.length;
  t.ok(answered <= seconds * 3, `${answered} of 60 in parts of at most ${seconds} seconds`);
  for (const { error, headers } of refused) {
    t.match(error, { code: 'rate_limit_exceeded', is_transient: true });
    t.match(headers, { 'retry-after': '1', 'ratelimit-limit': '3', 'ratelimit-remaining': '0' });
  }
  t.equal((await few.poll(NOW, few.demo.users.grace.access_token)).status, 200, 'another actor');
});

t.test('a client that polls counts as one socket, also between its polls', async (t) => {
  const limits = { socketsPerActor: 2, presenceMs: PATIENCE_MS, pollsPerSecond: 1_000 };
  const few = await Ground.start(t, { limits });
  const stream = await few.stream();
  let { cursor } = await few.poll(NOW);
  for (let n = 0; n < 5; n++) ({ cursor } = await few.poll({ cursor, ...NOW }));
  const refused = { status: 403, error: { code: 'limit_exceeded', quota: { limit: 2, used: 2 } } };
  t.match(await few.poll(NOW), refused, 'another client of the actor');
  t.match(await new StreamClient(few.answering()).refusal(), refused);
  t.equal((await few.poll({ cursor, ...NOW })).status, 200, 'the same one');
  t.equal((await few.poll(NOW, few.demo.users.grace.access_token)).status, 200, 'another actor');
  stream.close();

  const brief = await Ground.start(t, {
    beside: few,
    limits: { ...limits, socketsPerActor: 1, presenceMs: 500 },
  });
  t.equal((await brief.poll(NOW)).status, 200);
  await until(async () => (await brief.poll(NOW)).status === 200, { what: 'room, a while after its last' });
});

t.test('present during a poll and a while after', async (t) => {
  const HOLD_MS = 1_000;
  const harbour = await Ground.start(t, { limits: { presenceMs: HOLD_MS } });
  const { group } = harbour.demo.conversations;
  const { grace } = harbour.demo.users;
  const watcher = await harbour.ready();
  await watcher.request('subscribe', { conversation_id: group });
  await watcher.frame('caught_up');
  const seen = (status: string) => (frame: AnswerFrame) =>
    frame.event === 'presence' && frame.data?.status === status && frame.data.actor_id === grace.id;
  const statuses = () =>
    watcher.frames.filter(({ event }) => event === 'presence').map(({ data }) => data?.status);
  let askedMs = 0;
  /**
   * Polls five times. Returns false if there was a hold between two: a busy machine may take it.
   */
  const pollInTime = async () => {
    watcher.frames.length = 0;
    let longestMs = 0;
    askedMs = performance.now();
    let { cursor } = await harbour.poll({ subscribe: [of(group)], wait_ms: 100 }, grace.access_token);
    await watcher.frame(seen('online'));
    for (let n = 0; n < 4; n++) {
      await delay(HOLD_MS / 3);
      const beforeMs = askedMs;
      askedMs = performance.now();
      const body = { cursor, conversations: { [group]: 0 }, wait_ms: 100 };
      ({ cursor } = await harbour.poll(body, grace.access_token));
      longestMs = Math.max(longestMs, performance.now() - beforeMs);
    }
    if (longestMs < HOLD_MS) return true;
    await until(() => statuses().at(-1) === 'offline', { what: 'offline' });
    return false;
  };
  await until(pollInTime, { what: 'polls without a hold between them' });
  t.strictSame(statuses(), ['online'], 'never offline between two polls');
  await watcher.frame(seen('offline'));
  t.ok(performance.now() - askedMs >= HOLD_MS, 'not before its time');
  watcher.close();
});

t.test('a change of the feed that commits behind polls that began after it', async (t) => {
  const client = poller(t, group, grace.access_token);
  const seen = (wanted: string) => client.frames.filter(({ data }) => data?.id === wanted).length;
  const ids = await database.transaction(async (tx) => {
    const [ids] = await tx.query(CHANGE_FEED, grace.id, group);
    for (const polls of [2, 4]) {
      // Made and committed beside, so that polls end meanwhile.
      const [beside] = await database.query(NOTIFY, grace.id, `beside ${polls}`);
      await until(() => seen(beside!.id) > 0, { what: 'what was committed' });
    }
    t.equal(seen(ids!.id), 0);
    return ids!;
  });
  await publishTo(client, grace.id, { event: 'agent_run.updated', team: { id: 'run_last' } });
  await until(() => seen(ids.id) === 1 && seen(group) > 0, { what: 'what was committed late' });
  client.stop();
});

t.test('a refused resume leaves the cursor where it was', async (t) => {
  const { cursor } = await ground.poll(NOW);
  const [missed] = await database.query(NOTIFY, ada.id, 'before a refused resume');
  // Its own cursor is of its start, behind what was missed.
  const young = await Ground.start(t, { beside: ground, limits: { subscriptions: 1 } });
  const refused = await young.poll({ cursor, conversations: { [group]: 0, [direct]: 0 }, ...NOW });
  t.match(refused.frames.at(-1), { type: 'reply', ok: false, error: { code: 'limit_exceeded' } });
  const { frames } = await young.poll({ cursor: refused.cursor, ...NOW });
  t.ok(
    frames.some(({ data }) => data?.id === missed!.id),
    'what was missed comes with the next poll',
  );
});

t.test('presence is delivered once, and again when it changes', async (t) => {
  const { vera } = demo.users;
  const client = poller(t, group);
  const peer = await ground.ready(vera.access_token);
  await peer.request('subscribe', { conversation_id: group });
  await peer.frame('caught_up');
  const delivered = () =>
    client.frames
      .filter(({ event, data }) => event === 'presence' && data?.actor_id === vera.id)
      .map(({ data }) => data?.status);
  const expected: string[] = [];
  for (const status of ['online', 'away', 'online', 'away']) {
    await peer.request('presence', { status });
    expected.push(status);
    await until(() => delivered().at(-1) === status, { what: status });
    // Each ends with an event, and the next one joins the conversation again.
    for (let n = 0; n < 2; n++) {
      const id = `msg_${expected.length}_${n}`;
      await publishTo(client, group, { event: 'draft.created', team: { id } });
    }
  }
  t.strictSame(delivered(), expected);
  peer.close();
  client.stop();
});

t.test('a node that stops answers its polls', async (t) => {
  const leaving = await Ground.start(t);
  // A customer's, because there is no summary of an inbox that would end the second poll before.
  const token = leaving.demo.customer.access_token;
  const { cursor: first } = await leaving.poll(NOW, token);
  // This poll is answered with the case that was made a moment ago, so the next one waits.
  const { cursor } = await leaving.poll({ cursor: first, ...NOW }, token);
  const waiting = [{ cursor }, {}].map((body) => new PollClient(leaving.answering(token), body));
  await Promise.all(waiting.map((client) => client.begins()));
  const drained = leaving.gateway.drain('deploy', 60_000);
  for (const { frames, cursor: next } of await Promise.all(waiting.map(({ answer }) => answer))) {
    t.match(frameIn(frames, 'goaway'), { reason: 'deploy' });
    t.match(next, /~/);
  }
  await drained;
  t.match(await leaving.poll(), { status: 503, error: { code: 'service_unavailable' } });
});

t.test('a large answer comes at the pace of its reader, whole', async (t) => {
  const large = await Ground.start(t);
  const { group } = large.demo.conversations;
  await large.storeMessages(group, 1_000, 'x'.repeat(20_000));
  const { cursor, frames } = await large.poll({ conversations: { [group]: 0 } });
  t.strictSame(
    frames.filter(({ event }) => event === 'message.created').map(({ sequence }) => sequence),
    Array.from({ length: 1_000 }, (_, index) => index + 1),
  );
  t.ok(cursor.length < 8_192, `${cursor.length} characters`);
  const next = await large.poll({ cursor, conversations: { [group]: 1_000 }, ...NOW });
  t.strictSame(sequences(next), []);
});

t.test('too much: resync ends the wait', async (t) => {
  const many = await Ground.start(t);
  const { group } = many.demo.conversations;
  await many.storeMessages(group, 1_002);
  const { frames } = await many.poll({ conversations: { [group]: 1 } });
  t.match(frames.at(-1), { type: 'resync', reason: 'too_many', head_sequence: 1_002 });
});

t.test('what was delivered, in the cursor', (t) => {
  const reacted = eventOf('message.reacted', '2026-11-26T10:00:00.000000Z', {
    message_id: 'm',
    reactions: [],
  });
  const later = { ...reacted, at: '2026-11-26T10:00:01.000000Z' };
  const online = eventOf('presence', 'now', { actor_id: 'a', status: 'online' });
  const away = { ...online, data: { actor_id: 'a', status: 'away' } } as EventOf;
  const offline = { ...online, data: { actor_id: 'a', status: 'offline' } } as EventOf;
  const typing = eventOf('typing', 'now', { actor_id: 'a', state: 'start' });
  const created = eventOf('message.created', 'then', { id: 'msg_1' });
  const added = eventOf('conversation.added', 'then', { id: 'cnv_1', last_message: null });
  const draft = eventOf('draft.created', 'then', { id: 'msg_2' });

  const first = new Delivered();
  const delivered = [reacted, online, typing, created, added, draft];
  t.strictSame(
    delivered.map((event) => first.has(event)),
    [false, false, false, false, false, false],
  );
  const second = new Delivered(first.toText(true));
  t.ok(second.has(reacted));
  t.ok(second.has({ ...draft, event: 'draft.updated' } as EventOf), 'whatever the event is called');
  t.ok(second.has({ ...added, data: { id: 'cnv_1', last_message: created.data } } as EventOf), 'and shows');
  t.notOk(second.has({ ...added, event: 'conversation.removed' } as EventOf));
  t.notOk(second.has({ ...reacted, event: 'message.pinned' } as EventOf), 'another change of that moment');
  t.notOk(second.has(later), 'a later change is another');
  t.notOk(second.has(typing), 'what is sent once is not kept');
  t.notOk(second.has(created), 'a message comes again to a client that asks for it');
  t.ok(second.has({ ...online, at: 'later' }));
  t.notOk(second.has(away));
  t.notOk(second.has(online), 'there and back');
  const third = new Delivered(second.toText(true));
  const fourth = new Delivered(third.toText(true));
  t.notOk(fourth.has(reacted), 'a change that did not come again is forgotten');
  t.ok(new Delivered(third.toText(false)).has(reacted), 'but not by a poll that ended early');
  t.ok(fourth.has(online), 'a state is kept until it changes');
  t.notOk(fourth.has(offline));
  t.ok(fourth.has(offline));
  t.ok(new Delivered(fourth.toText(true)).has(offline), 'an actor of which nothing was delivered is offline');
  t.ok(new Delivered().has(offline));

  const begun = new Delivered(fourth.toText(true));
  t.notOk(begun.has(online, true), 'a conversation that begins is delivered as a whole');
  t.ok(begun.has(online, true), 'once');

  const full = new Delivered();
  for (let n = 0; n < 2_000; n++) full.has({ ...reacted, at: String(n) });
  const text = full.toText(true);
  t.ok(text.length < 7_500, `${text.length} characters`);
  t.ok(new Delivered(text).has({ ...reacted, at: '1999' }), 'the last ones');
  t.notOk(new Delivered(text).has({ ...reacted, at: '0' }));
  t.notOk(new Delivered('not what was written').has(reacted));
  t.end();
});

const INSERT = `
    INSERT INTO notifications (id, account_id, recipient_id, category, title, created_at, updated_at)
      SELECT notification_id(statement_timestamp(), $2, id), account_id, id, 'chat.message', 'Ahoy',
        statement_timestamp(), statement_timestamp()
      FROM actors WHERE id = $1 RETURNING id`;

const NOTIFY = statement<[recipientId: string, cause: string], { id: string }>(
  'test-notify-beside',
)`${INSERT}`;

/** A new notification, and a changed membership, with `updated_at` of this moment. */
const CHANGE_FEED = statement<[actorId: string, conversationId: string], { id: string }>('test-change-feed')`
    WITH changed AS (
      UPDATE participants SET ${setTouched()} WHERE actor_id = $1 AND conversation_id = $2)${INSERT}`;

function eventOf(event: string, at: string, data: object): EventOf {
  return { type: 'event', event, conversation_id: 'cnv_1', at, data } as unknown as EventOf;
}

function of(conversationId: string, after?: number): object {
  return { conversation_id: conversationId, after_sequence: after };
}

function types({ frames }: PollResult): string[] {
  return frames.filter(({ event }) => event !== 'presence').map(({ type }) => type);
}

function frameIn(frames: readonly AnswerFrame[], wanted: string): AnswerFrame | undefined {
  return frames.find(({ type }) => type === wanted);
}

function sequences({ frames }: PollResult): unknown[] {
  return frames.filter(({ event }) => event === 'message.created').map(({ sequence }) => sequence);
}

/** A client that has everything of a conversation without messages. */
function poller(t: Teardown, conversationId: string, credential?: string): Poller {
  const node = ground.answering(credential);
  return new Poller(t, { node: () => node, conversations: { [conversationId]: 0 } });
}

/**
 * Publishes an event that is in no table until the client has it: it reaches only a poll that is
 * open. Repeated, it is the same event still, which a client gets once.
 */
async function publishTo(
  client: Poller,
  stream: string,
  event: Parameters<Ground['publish']>[1] & { readonly team: { readonly id: string } },
): Promise<void> {
  const at = new Date().toISOString();
  const isThere = async () => {
    if (client.frames.some(({ data }) => data?.id === event.team.id)) return true;
    await ground.publish(stream, { ...event, at });
    return false;
  };
  await until(isThere, { what: `${event.event} ${event.team.id}` });
}
