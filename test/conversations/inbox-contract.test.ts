/**
 * The list of conversations in the order of activity and its filters (docs/contract.md#the-inbox),
 * on a whole server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import type { Client } from '../gateway/fixture.ts';
import { openSocket } from '../notifications/readers.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const NEW = { headers: { 'Service-Version': NEWEST_VERSION } };
const BY_ADA = { ...NEW, token: ada.access_token };
const BY_GRACE = { ...NEW, token: grace.access_token };
const BY_VERA = { ...NEW, token: vera.access_token };
const user = (actor: { readonly id: string }) => ({ type: 'user', actor_id: actor.id });

type Inbox = List<Conversation> & { readonly as_of?: string };

t.test('the conversation in which something was sent last comes first', async (t) => {
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push((await conversations.create({ participants: [user(grace)] })).id);
  const [a, b, c, d] = ids as [string, string, string, string];
  t.strictSame(
    (await inbox('order=activity&limit=4')).ids,
    [d, c, b, a],
    'created counts where nothing was sent',
  );
  await send(b);
  await send(a);
  const { ids: first, body } = await inbox('order=activity&limit=2');
  t.strictSame(first, [a, b], 'at once, whether or not the rows are written');
  t.match(body.as_of, /^\d{4}-.*Z$/);
  await send(d);
  const next = await page(body.page_info.next_page_url!);
  t.notOk(next.ids.includes(d), 'what moved up since the walk began is left out');
  t.equal(next.ids[0], c);
  t.equal(next.body.as_of, body.as_of, 'the walk is of one moment');
  const back = await page(next.body.page_info.previous_page_url!);
  t.strictSame(back.ids, [a, b]);
  t.strictSame((await inbox('order=activity&limit=3', BY_ADA)).ids, [d, a, b], 'of the whole account too');
  await written();
  t.strictSame((await inbox('order=activity&limit=4')).ids, [d, a, b, c], 'from the rows');
  t.strictSame((await inbox('order=activity&limit=4', BY_ADA)).ids, [d, a, b, c]);
  t.strictSame((await inbox('limit=4')).ids, [d, c, b, a], 'in the order of creation as before');

  const sent = await send(b);
  await conversations.ok('DELETE', `/v1/messaging/messages/${sent.id}`, BY_ADA);
  t.equal((await inbox('order=activity&limit=1')).ids[0], b, 'a deletion moves nothing');
  await written();
  t.equal((await inbox('order=activity&limit=1')).ids[0], b);
});

t.test('unread follows reading, sending and deleting at once', async (t) => {
  const { id } = await conversations.create({ participants: [user(grace)] });
  const isUnread = async (options: CallOptions = BY_GRACE) => {
    const lists = await Promise.all([
      inbox('filter=unread', options),
      inbox('filter=unread&order=activity', options),
    ]);
    const found = lists.map((list) => list.ids.includes(id));
    t.equal(found[0], found[1], 'in both orders');
    return found[0];
  };
  t.notOk(await isUnread());
  const first = await send(id);
  for (const wait of [false, true]) {
    if (wait) await written();
    t.ok(await isUnread());
    t.notOk(await isUnread(BY_ADA), 'one’s own message is not unread');
  }
  await send(id, {}, BY_GRACE);
  for (const wait of [false, true]) {
    if (wait) await written();
    t.ok(await isUnread(), 'an answer reads nothing');
    t.ok(await isUnread(BY_ADA));
  }
  await conversations.ok('DELETE', `/v1/messaging/messages/${first.id}`, BY_ADA);
  for (const wait of [false, true]) {
    if (wait) await written();
    t.notOk(await isUnread(), 'what was deleted is not unread');
  }
  const second = await send(id);
  t.ok(await isUnread());
  await conversations.ok('POST', `${PATH}/${id}/actions/mark-read`, {
    ...BY_GRACE,
    body: { sequence: second.sequence },
  });
  t.notOk(await isUnread());
  await written();
  t.notOk(await isUnread());
});

t.test('the inbox follows members who join and leave', async (t) => {
  const { id } = await conversations.create();
  await send(id);
  await written();
  t.notOk((await inbox('order=activity')).ids.includes(id));
  const member = await conversations.add(id, user(grace));
  t.equal((await inbox('order=activity&limit=1')).ids[0], id);
  await written();
  t.equal((await inbox('order=activity&limit=1')).ids[0], id);
  await conversations.ok('POST', `${PATH}/${id}/actions/hide`, BY_GRACE);
  t.notOk((await inbox('order=activity')).ids.includes(id), 'hidden');
  t.equal((await inbox('order=activity&status[]=hidden&limit=1')).ids[0], id);
  await conversations.ok('DELETE', `${PATH}/${id}/participants/${member.id}`);
  t.notOk((await inbox('order=activity&status[]=hidden&status[]=active')).ids.includes(id));
  await written();
  t.notOk((await inbox('order=activity&status[]=hidden&status[]=active')).ids.includes(id));
  const { rowCount } = await database.pool.query(
    'SELECT FROM inbox_rows WHERE conversation_id = $1 AND actor_id = $2',
    [id, grace.id],
  );
  t.equal(rowCount, 0, 'a former member has no row');
});

t.test('a large conversation is merged in', async (t) => {
  const { id } = await conversations.create({ participants: [user(grace)] });
  const { id: other } = await conversations.create({ participants: [user(grace)] });
  await database.pool.query(
    `WITH added AS (
      INSERT INTO actors (id, account_id, type, name)
      SELECT 'act_large' || n, $1, 'user', 'One of many' FROM generate_series(1, 110) AS n RETURNING id
    )
    INSERT INTO participants (id, account_id, conversation_id, actor_id, type)
    SELECT replace(id, 'act', 'par'), $1, $2, id, 'user' FROM added`,
    [demo.account_id, id],
  );
  await written();
  const rows = async () =>
    (
      await database.pool.query<{ large: number; small: number }>(
        `SELECT count(*) FILTER (WHERE activity_at IS NULL) AS large, count(activity_at) AS small
          FROM inbox_rows WHERE conversation_id = $1`,
        [id],
      )
    ).rows[0]!;
  t.match(await rows(), { large: 112, small: 0 });
  await send(other);
  await send(id);
  for (const wait of [false, true]) {
    if (wait) await written();
    t.strictSame((await inbox('order=activity&limit=2')).ids, [id, other]);
    t.ok((await inbox('filter=unread')).ids.includes(id));
    t.notOk((await inbox('filter=unread', BY_ADA)).ids.includes(id));
  }
  await database.pool.query(`UPDATE participants SET membership = 'left' WHERE id LIKE 'par_large%'`);
  await written();
  t.match(await rows(), { large: 0, small: 2 }, 'it has rows again');
  t.strictSame((await inbox('order=activity&limit=2')).ids, [id, other]);
});

t.test('the inbox can be filtered', async (t) => {
  const { conversation: mine, customer } = await conversations.createCase();
  const { conversation: free } = await conversations.createCase();
  const { conversation: done } = await conversations.createCase();
  await conversations.update(mine.id, { assignee_id: ada.id, topic: { type: 'actor', id: vera.id } });
  await conversations.update(done.id, { workflow_status: 'resolved' });
  const { id: withVera } = await conversations.create({ participants: [user(vera)] });
  const all = [mine.id, free.id, done.id, withVera];
  const found = async (query: string, options: CallOptions = BY_ADA) => {
    const lists = await Promise.all(
      ['created', 'activity'].map((order) => inbox(`${query}&order=${order}&limit=100`, options)),
    );
    const [created, activity] = lists.map(({ ids }) => all.filter((id) => ids.includes(id)));
    t.strictSame(created, activity, query);
    return activity;
  };
  t.strictSame(await found('filter=mine'), [mine.id]);
  t.strictSame(await found('filter=unassigned'), [free.id]);
  t.strictSame(await found('filter=open'), [mine.id, free.id, withVera]);
  const older = await app.call('GET', `${PATH}?filter=open`, {
    ...BY_ADA,
    headers: { 'Service-Version': '1.3.harbor' },
  });
  t.equal(refusalOf(older), '400 parameter_invalid filter');
  t.strictSame(await found('assignee_id=me'), [mine.id]);
  t.strictSame(await found(`assignee_id=${ada.id}`), [mine.id]);
  t.strictSame(await found(`participant_id=${vera.id}`), [withVera]);
  t.strictSame(await found(`customer_id=${customer.actor!.id}`), [mine.id]);
  t.strictSame(await found(`customer_id=${vera.id}`), [], 'a user is no customer');
  t.strictSame(await found(`topic_type=actor&topic_id=${vera.id}`), [mine.id]);
  t.strictSame(await found('workflow_status[]=new&workflow_status[]=resolved'), [mine.id, free.id, done.id]);
  t.strictSame(await found('workflow_status=resolved'), [done.id]);
  await conversations.update(withVera, { status: 'archived' });
  t.strictSame(await found(`status[]=archived&participant_id=${vera.id}`), [withVera]);
  t.strictSame(await found(`status[]=active&participant_id=${vera.id}`), []);
  const byCustomer = { ...NEW, token: await app.tokenOf(customer.actor!.id) };
  t.strictSame(await found('', byCustomer), [mine.id]);
  for (const query of [
    `participant_id=${ada.id}`,
    'filter=mine',
    'filter=unassigned',
    'workflow_status[]=new',
    'assignee_id=none',
  ]) {
    t.strictSame(await found(query, byCustomer), [], `a customer does not learn of the team: ${query}`);
  }
  t.strictSame(await found(`participant_id=${newId('actor')}`, byCustomer), [], 'nor whether it exists');
});

t.test('an admin’s inbox leaves out direct messages of others', async (t) => {
  const direct = await conversations.create({ type: 'direct_message', participants: [user(vera)] }, BY_GRACE);
  const sees = async (query: string, options: CallOptions) =>
    (await inbox(`${query}&limit=100`, options)).ids.includes(direct.id);
  for (const query of ['order=activity', 'order=created']) {
    t.notOk(await sees(query, BY_ADA), 'an admin leaves them out');
    t.ok(await sees(`${query}&direct=all`, BY_ADA), 'unless asked for');
    t.ok(await sees(query, BY_GRACE));
  }
  t.ok(await sees('', { token: ada.access_token }), 'the version before lists what it did');
  const { data } = await conversations.ok<List<{ action: string; actor: { id: string } }>>(
    'GET',
    '/v1/account/audit?action=conversations.direct_listed',
    BY_ADA,
  );
  t.strictSame(
    data.map(({ actor }) => actor.id),
    [ada.id, ada.id],
    'each is audited',
  );
});

t.test('a conversation can be marked as unread again', async (t) => {
  const { id } = await conversations.create({ participants: [user(grace)] });
  const sequences: number[] = [];
  for (let n = 0; n < 3; n++) sequences.push((await send(id)).sequence!);
  const [first, second, third] = sequences as [number, number, number];
  const move = (name: 'mark-read' | 'mark-unread', sequence: number, options: CallOptions = BY_GRACE) =>
    conversations.ok('POST', `${PATH}/${id}/actions/${name}`, { ...options, body: { sequence } });
  t.match(await move('mark-read', third), { unread: 0, last_read_sequence: third });
  t.match(await move('mark-unread', second), { unread: 2, last_read_sequence: second - 1 });
  t.match(
    await move('mark-unread', third),
    { unread: 2, last_read_sequence: second - 1 },
    'it is unread already',
  );
  t.match(await move('mark-unread', first), { unread: 3, last_read_sequence: first - 1 });
  t.ok((await inbox('filter=unread')).ids.includes(id));
  await conversations.ok('DELETE', `/v1/messaging/messages/${(await send(id)).id}`, BY_ADA);
  t.match(await conversations.get(id, '', BY_GRACE), { unread: 3 }, 'a tombstone is not unread');
  t.equal((await conversations.get(id, '', BY_ADA)).last_read_sequence, 0);
  const byKey = await conversations.get(id, '', { ...NEW, token: demo.api_key });
  t.equal(byKey.last_read_sequence, null, 'not a participant');

  const path = `${PATH}/${id}/actions/mark-unread`;
  const options = { ...BY_GRACE, headers: { ...NEW.headers, 'Idempotency-Key': randomUUID() } };
  const answer = await conversations.answer('POST', path, { ...options, body: { sequence: second } });
  const again = await conversations.answer('POST', path, { ...options, body: { sequence: second } });
  t.strictSame([again.status, again.text], [200, answer.text]);
  const { conversation, customer } = await conversations.createCase();
  const note = await send(conversation.id);
  const byCustomer = { ...NEW, token: await app.tokenOf(customer.actor!.id) };
  const calls: [path: string, body: object, options: CallOptions, expected: string][] = [
    [path, {}, BY_GRACE, '400 missing_field sequence'],
    [path, { sequence: 0 }, BY_GRACE, '422 validation_failed sequence'],
    [path, { sequence: 1.5 }, BY_GRACE, '400 invalid_format sequence'],
    [path, { sequence: third + 10 }, BY_GRACE, '422 validation_failed sequence'],
    [path, { sequence: 1 }, BY_VERA, '404 resource_not_found id'],
    [path, { sequence: 1 }, { ...NEW, token: demo.api_key }, '409 resource_conflict null'],
    [path, { sequence: 1 }, { token: grace.access_token }, '400 api_version_too_old Service-Version'],
    [
      `${PATH}/${conversation.id}/actions/mark-unread`,
      { sequence: note.sequence },
      byCustomer,
      '422 validation_failed sequence',
    ],
  ];
  for (const [path, body, options, expected] of calls) {
    t.equal(refusalOf(await app.call('POST', path, { ...options, body })), expected);
  }
});

t.test('the summary counts what the lists show, and all is marked as read', async (t) => {
  const made = await conversations.create({ participants: [user(vera), user(grace)] });
  const hidden = await conversations.create({ participants: [user(grace)] });
  await send(made.id);
  await send(hidden.id);
  await conversations.ok('POST', `${PATH}/${hidden.id}/actions/hide`, BY_GRACE);
  const { conversation } = await conversations.createCase();
  await conversations.add(conversation.id, user(grace));
  await conversations.update(conversation.id, { assignee_id: grace.id });
  const agrees = async (options: CallOptions) => {
    const summary = await summaryOf(options);
    const listed = async (query: string) => (await inbox(`${query}&limit=100`, options)).ids.length;
    t.equal(summary.unread, await listed('filter=unread&order=activity'), 'unread');
    t.equal(summary.mine, await listed('filter=mine'), 'mine');
    t.equal(summary.unassigned, await listed('filter=unassigned'), 'unassigned');
    t.equal(summary.snoozed, await listed('filter=snoozed'), 'snoozed');
    for (const [lane, number] of Object.entries(summary.lanes)) {
      t.equal(number, await listed(`workflow_status=${lane}`), lane);
    }
    const { body } = await inbox('order=activity&limit=10', options);
    t.strictSame(
      summary.latest.map(({ conversation_id }) => conversation_id),
      body.data.map(({ id }) => id),
    );
    return summary;
  };
  const before = await agrees(BY_GRACE);
  t.ok(before.unread > 0 && before.mine === 1);
  await agrees(BY_ADA);
  await agrees({ ...NEW, token: demo.api_key });
  await conversations.ok('POST', `${PATH}/${made.id}/actions/snooze`, { ...BY_GRACE, body: {} });
  const snoozed = await agrees(BY_GRACE);
  t.match(snoozed, { snoozed: 1, unread: before.unread - 1 }, 'snoozed is not unread');
  t.notOk((await inbox('order=activity&limit=100')).ids.includes(made.id));
  t.ok((await inbox('order=activity&filter=snoozed')).ids.includes(made.id));
  const marked = await conversations.ok<InboxSummary>('POST', `${PATH}/actions/mark-all-read`, BY_GRACE);
  t.equal(marked.unread, 0);
  t.strictSame((await inbox('filter=unread&status[]=hidden&status[]=active')).ids, [], 'hidden ones too');
  t.equal((await conversations.get(made.id, '', BY_GRACE)).unread, 0);
  t.ok((await summaryOf(BY_VERA)).unread > 0, 'one’s own alone');
  await written();
  t.equal((await agrees(BY_GRACE)).unread, 0);
  const left = async () => {
    const query = '/v1/messaging/notifications?category=chat.message&status=unseen';
    return (await conversations.ok<List<object>>('GET', query, BY_GRACE)).data.length;
  };
  await until(async () => (await left()) === 0, { what: 'notifications of what was read' });
  const customer = { ...NEW, token: demo.customer.access_token };
  t.match(await summaryOf(customer), { mine: 0, unassigned: 0, lanes: { new: 0, open: 0 } });
  const old = await app.call('GET', `${PATH}/summary`, { token: grace.access_token });
  t.equal(refusalOf(old), '400 api_version_too_old Service-Version');
});

t.test('inbox.updated follows what happened', async (t) => {
  const client = await openSocket(t, app, { token: grace.access_token }, NEWEST_VERSION);
  const shows = (holds: (summary: InboxSummary) => boolean) =>
    until(
      () =>
        client.frames.some(
          ({ event, data }) => event === 'inbox.updated' && holds(data as unknown as InboxSummary),
        ),
      { what: 'inbox.updated' },
    );
  const { id } = await conversations.create({ participants: [user(grace)] });
  await shows(({ latest }) => latest[0]?.conversation_id === id);
  const sent = await send(id);
  await shows(({ unread, latest }) => unread === 1 && latest[0]?.conversation_id === id);
  await conversations.ok('POST', `${PATH}/${id}/actions/mark-read`, {
    ...BY_GRACE,
    body: { sequence: sent.sequence },
  });
  await until(
    () => client.frames.filter(({ event }) => event === 'inbox.updated').at(-1)?.data?.unread === 0,
    { what: 'nothing unread' },
  );
});

t.test('inbox.changed names what lists may show differently, to those that see it', async (t) => {
  const open = (token: string) => openSocket(t, app, { token }, NEWEST_VERSION);
  const { customer } = await conversations.createCase();
  const [team, admin, adminUser, outside] = [
    await open(grace.access_token),
    await open(demo.api_key),
    await open(ada.access_token),
    await open(await app.tokenOf(customer.actor!.id)),
  ] as const;
  const named = (client: Client) =>
    client.frames.flatMap(({ event, data }) =>
      event === 'inbox.changed' ? (data?.conversation_ids as string[]) : [],
    );
  const areNamed = (client: Client, ...ids: readonly string[]) => {
    const missing = () => ids.filter((id) => !named(client).includes(id));
    return until(() => missing().length === 0, { what: () => `inbox.changed of ${missing()} in ${ids}` });
  };
  const act = (action: string, id: string, body: object = {}) =>
    conversations.ok('POST', `${PATH}/${id}/actions/${action}`, { ...BY_GRACE, body });
  const ofNote = (method: string, note: ChatMessage, body?: object) =>
    conversations.ok(method, `/v1/messaging/messages/${note.id}`, { ...BY_ADA, ...(body && { body }) });
  /** Each is made in a case of its own, with a note in it. */
  const ofTeam: readonly Change[] = [
    (id) => send(id),
    (id) => conversations.update(id, { title: 'Renamed' }),
    (_, note) => ofNote('PATCH', note, { body: 'edited' }),
    (_, note) => ofNote('DELETE', note),
    (id) => conversations.add(id, user(vera)),
  ];
  const ofGrace: readonly Change[] = [
    (id, { sequence }) => act('mark-read', id, { sequence }),
    (id, { sequence }) => act('mark-unread', id, { sequence }),
    (id) => act('snooze', id),
    (id) => act('unsnooze', id),
    (id) => act('hide', id),
    (id) => act('unhide', id),
  ];
  const ofAll: readonly Change[] = [
    (id) => send(id, { audience: 'customer' }),
    (id) => conversations.ok('DELETE', `${PATH}/${id}`, BY_ADA),
  ];
  const cases = new Map<Change, readonly [id: string, note: ChatMessage]>();
  for (const change of [...ofTeam, ...ofGrace, ...ofAll]) {
    const participants = [{ type: 'customer', actor_id: customer.actor!.id }, user(grace)];
    const { id } = (await conversations.createCase({ participants })).conversation;
    cases.set(change, [id, await send(id)]);
  }
  const idsOf = (changes: readonly Change[]) => changes.map((change) => cases.get(change)![0]);
  // The second of each pair takes the first back.
  for (const at of [0, 2, 4]) await ofGrace[at]!(...cases.get(ofGrace[at + 1]!)!);
  const direct = (actor: { readonly id: string }) =>
    conversations.create({ type: 'direct_message', participants: [user(actor)] }, BY_GRACE);
  const [ofOthers, own] = [await direct(vera), await direct(ada)];
  await written();
  // Until everything of before has been announced.
  const marker = await conversations.create({ participants: [user(grace)] });
  await areNamed(team, marker.id);
  for (const client of [team, admin, adminUser, outside]) client.frames.length = 0;

  for (const [change, [id, note]] of cases) await change(id, note);
  for (const { id } of [ofOthers, own]) await send(id, {}, BY_GRACE);
  await areNamed(team, ...idsOf([...ofTeam, ...ofGrace, ...ofAll]), ofOthers.id, own.id);
  await areNamed(admin, ...idsOf([...ofTeam, ...ofAll]));
  await areNamed(adminUser, own.id);
  await areNamed(outside, ...idsOf(ofAll));
  // A second later, so behind anything that is wrong.
  await conversations.update(marker.id, { title: 'Renamed' });
  for (const client of [admin, adminUser]) {
    await areNamed(client, marker.id);
    t.notOk(named(client).includes(ofOthers.id), 'direct messages of others');
  }
  t.notOk(named(admin).includes(own.id));
  const others = named(outside).filter((id) => !idsOf(ofAll).includes(id));
  t.strictSame(others, [], 'what the team does among itself is not for customers');
});

type Change = (id: string, note: ChatMessage) => Promise<unknown>;

t.test('named conversations: those of the list, as they are now', async (t) => {
  const [a, b, c] = [
    await conversations.create({ participants: [user(grace)] }),
    await conversations.create({ participants: [user(grace)] }),
    await conversations.create(),
  ] as const;
  await send(a.id);
  const nothing = newId('conversation');
  const ids = [a, b, c, { id: nothing }].map(({ id }) => `conversation_ids[]=${id}`).join('&');
  for (const wait of [false, true]) {
    if (wait) await written();
    t.strictSame((await inbox(`order=activity&${ids}`)).ids, [a.id, b.id], 'in order; not what is not hers');
    t.strictSame((await inbox(ids)).ids, [b.id, a.id], 'in the order of creation');
    t.strictSame((await inbox(`order=activity&filter=unread&${ids}`)).ids, [a.id]);
    t.strictSame((await inbox(`order=activity&${ids}`, BY_ADA)).ids, [a.id, c.id, b.id]);
    t.strictSame((await inbox(`order=activity&limit=1&${ids}`)).ids, [a.id]);
  }
  const first = await inbox(`order=activity&limit=1&${ids}`);
  t.strictSame((await page(first.body.page_info.next_page_url!)).ids, [b.id]);
  const sent = await send(b.id);
  await conversations.ok('DELETE', `/v1/messaging/messages/${sent.id}`, BY_ADA);
  t.strictSame((await inbox(`order=activity&${ids}`)).ids, [b.id, a.id], 'a deletion moves nothing');
  const { data } = (await inbox(`order=activity&${ids}`)).body;
  const listed = (await inbox('order=activity&limit=2')).body.data;
  t.strictSame(data, listed, 'the same resources');
  t.ok(data[0]!.activity_at! > data[0]!.created_at && data[0]!.last_message_at === null);
  t.equal((await conversations.get(b.id, '', BY_GRACE)).activity_at, data[0]!.activity_at);
  const old = await app.call('GET', `${PATH}?${ids}`, { headers: { 'Service-Version': '1.2.harbor' } });
  t.equal(refusalOf(old), '400 parameter_unknown conversation_ids[]');
});

t.test('the summary says when the first snooze ends', async (t) => {
  const [a, b] = [
    await conversations.create({ participants: [user(vera)] }),
    await conversations.create({ participants: [user(vera)] }),
  ];
  t.equal((await summaryOf(BY_VERA)).snooze_ends_at, null);
  const snooze = (id: string, body: object) =>
    conversations.ok('POST', `${PATH}/${id}/actions/snooze`, { ...BY_VERA, body });
  await snooze(a!.id, {});
  t.equal((await summaryOf(BY_VERA)).snooze_ends_at, null, 'with a message');
  await snooze(a!.id, { until: '2027-02-01T00:00:00Z' });
  await snooze(b!.id, { until: '2027-01-01T00:00:00Z' });
  t.equal((await summaryOf(BY_VERA)).snooze_ends_at, '2027-01-01T00:00:00.000000Z');
  t.equal((await summaryOf({ ...NEW, token: demo.customer.access_token })).snooze_ends_at, null);
});

t.test('the inbox refuses invalid parameters', async (t) => {
  const calls: [query: string, options: CallOptions, expected: string][] = [
    ['order=oldest', BY_ADA, '400 parameter_invalid order'],
    ['filter=all', BY_ADA, '400 parameter_invalid filter'],
    ['status=active&status[]=archived', BY_ADA, '400 parameters_exclusive status[]'],
    ['workflow_status=new&workflow_status[]=open', BY_ADA, '400 parameters_exclusive workflow_status[]'],
    ['topic_type=actor', BY_ADA, '400 parameter_missing topic_id'],
    ['topic_id=x', BY_ADA, '400 parameter_missing topic_type'],
    [`participant_id=${newId('actor')}`, BY_ADA, '400 parameter_invalid participant_id'],
    [`customer_id=${newId('actor')}`, BY_ADA, '400 parameter_invalid customer_id'],
    ['direct=mine', BY_ADA, '400 parameter_invalid direct'],
    ['direct=all', BY_GRACE, '403 insufficient_permissions direct'],
    ['order=activity', { token: ada.access_token }, '400 parameter_unknown order'],
  ];
  for (const [query, options, expected] of calls) {
    t.equal(refusalOf(await app.call('GET', `${PATH}?${query}`, options)), expected, query);
  }
  const { body } = await inbox('order=activity&limit=1');
  const cursor = new URL(body.page_info.next_page_url!, app.baseUrl).searchParams.get('cursor');
  const other = await app.call('GET', `${PATH}?order=created&cursor=${cursor}`, BY_GRACE);
  t.equal(refusalOf(other), '400 parameter_invalid cursor', 'a cursor belongs to its order');
  t.equal((await inbox('order=activity', BY_VERA)).status, 200, 'messaging:read is enough');
});

async function inbox(query: string, options: CallOptions = BY_GRACE) {
  return page(`${PATH}?${query}`, options);
}

async function page(path: string, options: CallOptions = BY_GRACE) {
  const { status, body, text } = await app.call<Inbox>('GET', path, options);
  if (status !== 200) throw new Error(text);
  return { status, body, ids: body.data.map(({ id }) => id) };
}

/** Resolves when every row is written. */
function written() {
  const left = async () =>
    (await database.pool.query('SELECT FROM inbox_due UNION ALL SELECT FROM outbox')).rowCount;
  return until(async () => (await left()) === 0, { what: 'rows of the inbox' });
}

function summaryOf(options: CallOptions) {
  return conversations.ok<InboxSummary>('GET', `${PATH}/summary`, options);
}

function send(id: string, fields: object = {}, options: CallOptions = {}): Promise<ChatMessage> {
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return conversations.ok<ChatMessage>('POST', `${PATH}/${id}/messages`, { body, ...options });
}
