/** Who takes part in a case by a group, and what of it they are notified of. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { MessagingGroup } from '@parley/protocol/resources/actor.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { GroupCases } from '@parley/protocol/resources/group-cases.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Widget } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import type { ReceivedFrame } from '../gateway/fixture.ts';
import { resume } from '../gateway/missed.ts';
import { newReader, openSocket, type Reader } from '../notifications/readers.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { borrowTestApp, callsAt } from '../support/app.ts';
import { until } from '../support/until.ts';
import { visitorsOf } from '../widgets/fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada } = demo.users;
const { refusal } = callsAt(app, NEWEST_VERSION);
const { need, widget, visitor, openCase, send } = visitorsOf(app);
const CONVERSATIONS = '/v1/messaging/conversations';
const GROUPS = '/v1/messaging/groups';
const FEED = '/v1/messaging/notifications?include[]=resource&limit=100';
/** Where a reader is shown a case in which a customer waits, and what it has written. */
const DOORS = [
  FEED,
  `${CONVERSATIONS}?limit=100`,
  `${CONVERSATIONS}?order=waiting&limit=100`,
  '/v1/messaging/search?q=before&limit=100',
  '/v1/messaging/work',
];

t.test(
  'a case of a visitor reaches every member of the group: unread, on its socket, in its feed',
  async (t) => {
    const [one, two, stranger] = await people(3);
    const { shop } = await team([one, two]);
    const socket = await openSocket(t, app, one, NEWEST_VERSION);
    const { id, token } = await visitorCase(shop);
    await socket.frame(({ event, data }) => event === 'conversation.added' && data?.id === id);
    await send(token, id, 'Is it in stock?');
    const { data } = await socket.frame(({ event }) => event === 'notification.created');
    t.match(data, { category: 'chat.message', body: 'Is it in stock?' });
    for (const member of [one, two]) {
      t.match(await feed(member), [{ category: 'chat.message', resource_id: id }]);
      t.equal((await shown(member, id)).unread, 1);
    }
    t.strictSame(await feed(stranger), []);
    t.strictSame(await feed(ada), [], 'an admin of a group that has users is not asked');
  },
);

t.test('participants say by which group they take part, since 1.4', async (t) => {
  const [member, named] = await people(2);
  const { group, shop } = await team([member]);
  const { id } = await visitorCase(shop);
  await add(id, named);
  t.strictSame(await viaOf(id), { [member.id]: group.id, [named.id]: null });
  const { data } = await need<List<Participant>>('GET', `${CONVERSATIONS}/${id}/participants`, {
    headers: { 'Service-Version': '1.3.harbor' },
  });
  t.ok(data.every((participant) => !('via_group_id' in participant)));
});

t.test('without a group it is Customer Service, and without users in it the admins', async (t) => {
  const shop = await widget();
  const first = await visitorCase(shop);
  t.strictSame(await usersIn(first.id), [ada.id]);
  const [member] = await people(1);
  const persona = await customerService();
  await members(persona, [member]);
  await until(async () => (await usersIn(first.id)).includes(member.id), { what: 'the member' });
  await until(async () => !(await usersIn(first.id)).includes(ada.id), { what: 'the leave of the admin' });
  const second = await visitorCase(shop);
  t.strictSame(await usersIn(second.id), [member.id]);

  await need('POST', `/v1/users/${member.id}/actions/deactivate`);
  await until(async () => (await usersIn(second.id)).includes(ada.id), { what: 'the admin, who stands in' });
  const [admin] = await people(1, 'admin');
  await until(async () => (await usersIn(second.id)).includes(admin.id), { what: 'the new admin' });
  await need('POST', `/v1/users/${member.id}/actions/activate`);
  await until(async () => (await usersIn(first.id)).join() === member.id, { what: 'the member alone' });
  await until(async () => (await usersIn(second.id)).join() === member.id, { what: 'the member alone' });
  await members(persona, []);
  await until(async () => (await usersIn(first.id)).includes(ada.id), { what: 'the admins again' });
});

t.test('a case of an API key that names no user has the team, one that names users has those', async (t) => {
  const [member, named] = await people(2);
  const persona = await customerService();
  await members(persona, [member]);
  const customer = { type: 'customer', name: 'Cleo', email: `${randomUUID()}@example.net` };
  const ofNone = await create({ participants: [customer] });
  t.strictSame(await viaOf(ofNone), { [member.id]: persona });
  const ofNamed = await create({ participants: [customer, { type: 'user', actor_id: named.id }] });
  t.strictSame(await viaOf(ofNamed), { [named.id]: null });
  const ofPerson = await create({ participants: [customer] }, named.token);
  t.strictSame(await viaOf(ofPerson), { [named.id]: null });
  await members(persona, []);
});

t.test('who joins the group joins its open cases, as read; who leaves it leaves them all', async (t) => {
  const [first, second] = await people(2);
  const { group, shop } = await team([first]);
  const open = await visitorCase(shop);
  const resolved = await visitorCase(shop);
  await send(open.token, open.id, 'Hello');
  await patch(resolved.id, { workflow_status: 'resolved' });
  const socket = await openSocket(t, app, second, NEWEST_VERSION);
  await members(group.id, [first, second]);
  await socket.frame(({ event, data }) => event === 'conversation.added' && data?.id === open.id);
  t.equal((await shown(second, open.id)).unread, 0);
  t.strictSame(await feed(second), [], 'and is not notified of it');
  t.strictSame(await usersIn(resolved.id), [first.id]);
  await send(open.token, open.id, 'Anybody?');
  await until(async () => (await feed(second)).length === 1, { what: 'the next message' });

  await send(resolved.token, resolved.id, 'Again');
  await until(async () => (await usersIn(resolved.id)).includes(second.id), { what: 'the reopened case' });
  await patch(resolved.id, { workflow_status: 'resolved' });
  await members(group.id, [second]);
  for (const { id } of [open, resolved]) {
    await until(async () => (await usersIn(id)).join() === second.id, { what: 'the leave' });
    t.equal(
      await refusal('GET', `${CONVERSATIONS}/${id}`, { token: first.token }),
      '404 resource_not_found id',
    );
  }
  const owner = (await participants(open.id)).find(({ role }) => role === 'owner');
  t.equal(owner?.actor_id, second.id, 'a case keeps an owner');
  await members(group.id, [first, second]);
  await until(async () => (await usersIn(open.id)).includes(first.id), { what: 'who is back in the group' });
  const { data } = await need<List<{ kind: string }>>('GET', `${CONVERSATIONS}/${open.id}/messages`);
  t.ok(
    data.every(({ kind }) => kind !== 'system_event'),
    'no message says who came and went',
  );
  const audited = await need<List<{ action: string }>>('GET', `${CONVERSATIONS}/${open.id}/audit`);
  t.equal(audited.data.filter(({ action }) => action === 'participant.added').length, 2);
  t.equal(audited.data.filter(({ action }) => action === 'participant.removed').length, 1);
});

t.test('who was added by name stays, the assignee too; who left or was removed stays away', async (t) => {
  const [named, assigned, gone, member] = await people(4);
  const { group, shop } = await team([named, assigned, gone, member]);
  const { id } = await visitorCase(shop);
  const other = await visitorCase(shop);
  await add(id, named);
  t.match(await viaOf(id), { [named.id]: null });
  await patch(id, { assignee_id: assigned.id });
  const leaving = (await participants(id)).find(({ actor_id }) => actor_id === gone.id);
  await need('DELETE', `${CONVERSATIONS}/${id}/participants/${leaving!.id}`, { token: gone.token });
  await members(group.id, [gone]);
  await until(async () => !(await usersIn(id)).includes(member.id), { what: 'the leave' });
  await until(async () => (await usersIn(other.id)).join() === gone.id, { what: 'the leave of the other' });
  t.strictSame(await viaOf(id), { [named.id]: null, [assigned.id]: null });
  t.equal(
    await refusal('POST', `${CONVERSATIONS}/${other.id}/participants`, {
      body: { type: 'user', actor_id: named.id },
    }),
    '201',
  );
});

t.test('a socket of another team gets nothing of a case, live or when it resumes', async (t) => {
  const [ours, theirs] = await people(2);
  const { shop } = await team([ours]);
  const { shop: other } = await team([theirs]);
  const socket = await openSocket(t, app, ours, NEWEST_VERSION);
  const { cursor } = await socket.frame('ready');
  const hidden = await visitorCase(other);
  const absent = newId('conversation');
  for (const [command, fields] of [
    ['subscribe', { after_sequence: 0 }],
    ['typing', { state: 'start' }],
    ['mark_read', { sequence: 1 }],
  ] as const) {
    const asked = (conversation_id: string) => socket.request(command, { conversation_id, ...fields });
    const { error } = await asked(hidden.id);
    t.match(error, { code: 'resource_not_found' });
    t.strictSame(error, (await asked(absent)).error, command);
  }
  await send(hidden.token, hidden.id, 'Only for them');
  const { id, token } = await visitorCase(shop);
  await send(token, id, 'For us');
  await socket.frame(({ event }) => event === 'notification.created');
  const late = await openSocket(t, app, ours, NEWEST_VERSION);
  const frames = await resume(late, cursor, { [hidden.id]: 0, [absent]: 0, [id]: 0 });
  t.strictSame(
    frames.filter(({ type }) => type === 'resync'),
    [hidden.id, absent].map((conversation_id) => ({ type: 'resync', conversation_id, reason: 'revoked' })),
  );
  t.ok(frames.some(({ data }) => data?.body === 'For us'));
  const got = [...socket.frames, ...frames].filter(({ type }) => type !== 'resync');
  t.notOk(JSON.stringify(got).includes(hidden.id));
});

t.test('who leaves a group loses its cases on an open socket too, and keeps those of another', async (t) => {
  const [leaving, stays, named] = await people(3);
  const { group, shop } = await team([leaving, stays, named]);
  const { shop: other } = await team([leaving]);
  const lost = await visitorCase(shop);
  const kept = await visitorCase(other);
  await add(lost.id, named);
  await send(lost.token, lost.id, 'Before');
  await send(kept.token, kept.id, 'Before');
  await until(async () => (await feed(leaving)).length === 2, { what: 'both messages' });
  t.strictSame(inAnyOrder(await traces(leaving, lost.id)), inAnyOrder(DOORS), 'all of it is there');
  const [socket, ofNamed] = [
    await openSocket(t, app, leaving, NEWEST_VERSION),
    await openSocket(t, app, named, NEWEST_VERSION),
  ];
  const { cursor } = await socket.frame('ready');
  for (const { id } of [lost, kept]) t.ok((await socket.request('subscribe', { conversation_id: id })).ok);
  t.ok((await ofNamed.request('subscribe', { conversation_id: lost.id })).ok);

  await members(group.id, [stays]);
  await socket.frame(({ type, conversation_id: of }) => type === 'resync' && of === lost.id);
  await socket.frame(({ event, data }) => event === 'conversation.removed' && data?.id === lost.id);
  await send(lost.token, lost.id, 'Afterwards');
  await send(kept.token, kept.id, 'Afterwards');
  const isAfter = ({ data }: ReceivedFrame) => data?.body === 'Afterwards';
  const of = (id: string) => (frame: ReceivedFrame) => isAfter(frame) && frame.conversation_id === id;
  await ofNamed.frame(of(lost.id));
  await socket.frame(of(kept.id));
  t.notOk(socket.frames.some(of(lost.id)));
  t.strictSame(await traces(leaving, lost.id), [FEED], 'but of what it was notified');
  t.strictSame(inAnyOrder(await traces(leaving, kept.id)), inAnyOrder(DOORS));
  t.strictSame(inAnyOrder(await traces(named, lost.id)), inAnyOrder(DOORS), 'who was added by name keeps it');

  const late = await openSocket(t, app, leaving, NEWEST_VERSION);
  const frames = await resume(late, cursor, { [lost.id]: 0, [kept.id]: 0 });
  t.notOk(frames.some(of(lost.id)));
  t.ok(frames.some(of(kept.id)));
  t.match(
    frames.filter(({ type }) => type === 'resync'),
    [{ conversation_id: lost.id, reason: 'revoked' }],
  );
});

t.test('the assignee is notified, and who was added by name or mentioned; all read on', async (t) => {
  const [one, two, named] = await people(3);
  const { group, shop } = await team([one, two]);
  const { id, token } = await visitorCase(shop);
  await add(id, named);
  const heard = async (text: string) => {
    await send(token, id, text);
    const said = async (reader: Reader) => (await feed(reader)).some(({ body }) => body === text);
    await until(() => said(named), { what: text });
    return [await said(one), await said(two)];
  };
  t.strictSame(await heard('nobody has it'), [true, true]);
  await patch(id, { assignee_id: one.id });
  t.strictSame(await heard('one has it'), [true, false]);
  t.equal((await shown(two, id)).unread > 0, true, 'it can be read, and is unread');
  const handle = (await need<{ email: string }>('GET', `/v1/users/${two.id}`)).email;
  await need('POST', `${CONVERSATIONS}/${id}/messages`, {
    token: one.token,
    body: {
      client_message_id: randomUUID(),
      body: `ask @${handle}`,
      audience: 'internal',
      mentions: [two.id],
    },
  });
  await until(async () => (await feed(two)).some(({ category }) => category === 'chat.mention'), {
    what: 'the mention',
  });
  await patch(id, { assignee_id: group.id });
  t.strictSame(await heard('the group has it'), [true, true]);
  const foreign = await need<MessagingGroup>('POST', GROUPS, {
    body: { name: randomUUID(), members: [two.id] },
  });
  await patch(id, { assignee_id: foreign.id });
  t.strictSame(await heard('a group of which one is in it has it'), [false, true]);
  await members(foreign.id, []);
  await until(async () => (await heard(`none of which is in it ${randomUUID()}`)).join() === 'true,true', {
    what: 'the team',
  });
  await patch(id, { assignee_id: one.id });
  await need('POST', `/v1/users/${one.id}/actions/deactivate`);
  await send(token, id, 'the one that has it cannot act');
  await until(async () => (await feed(two))[0]?.body === 'the one that has it cannot act', {
    what: 'the team',
  });
});

t.test('an admin that takes a case from outside takes part in it', async (t) => {
  const [member] = await people(1);
  const [admin] = await people(1, 'admin');
  const { group, shop } = await team([member]);
  const { id, token } = await visitorCase(shop);
  await patch(id, { assignee_id: admin.id }, admin.token);
  t.strictSame(await viaOf(id), { [member.id]: group.id, [admin.id]: null });
  await send(token, id, 'Still there?');
  await until(async () => (await feed(admin)).length === 1, { what: 'the message' });
  t.strictSame(await feed(member), []);
});

t.test('the cases of a deleted group go to Customer Service', async (t) => {
  const [member] = await people(1);
  const { group, shop } = await team([member]);
  const { id } = await visitorCase(shop);
  await need('DELETE', `${GROUPS}/${group.id}`);
  await until(async () => (await usersIn(id)).includes(ada.id), { what: 'who answers now' });
  t.notOk((await usersIn(id)).includes(member.id));
});

t.test('earlier cases are counted, and joined when an admin says so', async (t) => {
  const [one, two] = await people(2);
  const { group, shop } = await team([one]);
  const path = `${GROUPS}/${group.id}/cases`;
  const cases = [await visitorCase(shop), await visitorCase(shop), await visitorCase(shop)];
  const ids = cases.map(({ id }) => id);
  t.strictSame(await need('GET', path), counts(group, 3, 0));
  t.strictSame(await need('POST', `${path}/actions/join`), counts(group, 3, 0), 'nothing to do');
  await forget(ids);
  await patch(ids[2]!, { workflow_status: 'resolved' });
  t.strictSame(await need('GET', path), counts(group, 0, 2));
  await members(group.id, [one, two]);
  const key = randomUUID();
  const headers = { 'Idempotency-Key': key };
  t.strictSame(await need('POST', `${path}/actions/join`, { headers }), counts(group, 0, 2));
  await until(async () => (await need<GroupCases>('GET', path)).without_members === 0, {
    what: 'the joining',
  });
  for (const id of ids.slice(0, 2)) {
    await until(async () => (await usersIn(id)).length === 2, { what: 'both' });
  }
  t.strictSame(await usersIn(ids[2]!), []);
  t.strictSame(await need('POST', `${path}/actions/join`, { headers }), counts(group, 0, 2), 'a replay');
  const { data } = await need<List<{ details: object }>>(
    'GET',
    '/v1/account/audit?action=group.cases_joined',
  );
  t.match(data, [{ details: { group_id: group.id, cases: 2 } }]);
  t.equal(data.length, 1);

  t.equal(await refusal('GET', `${GROUPS}/grp_none/cases`), '404 resource_not_found id');
  const other = {
    token: demo.other_account.api_key,
    headers: { 'Service-Account': demo.other_account.account_id },
  };
  for (const [method, at] of [
    ['GET', path],
    ['POST', `${path}/actions/join`],
  ] as const) {
    t.equal(await refusal(method, at, { token: one.token }), '403 insufficient_permissions null');
    t.equal(await refusal(method, at, { token: 'none' }), '401 invalid_credentials null');
    t.equal(await refusal(method, at, other), '404 resource_not_found id');
  }
});

async function traces({ token }: Reader, id: string): Promise<string[]> {
  const found = await Promise.all(
    DOORS.map(async (path) => JSON.stringify(await need('GET', path, { token })).includes(id)),
  );
  return DOORS.filter((_, place) => found[place]);
}

function counts({ id: group_id }: MessagingGroup, open: number, without_members: number): GroupCases {
  return { object: 'group_cases', group_id, open, without_members };
}

/** Makes cases as they were before cases had a team. */
async function forget(ids: readonly string[]): Promise<void> {
  await database.transaction(async ({ kysely }) => {
    await kysely
      .deleteFrom('participants')
      .where('conversation_id', 'in', ids)
      .where('type', '=', 'user')
      .execute();
    await kysely.updateTable('conversations').set({ team_group_id: null }).where('id', 'in', ids).execute();
  });
}

/** A group of these people, and a widget of it. */
async function team(of: readonly Reader[]): Promise<{ group: MessagingGroup; shop: Widget }> {
  const body = { name: `Team ${randomUUID()}`, members: of.map(({ id }) => id) };
  const group = await need<MessagingGroup>('POST', GROUPS, { body });
  return { group, shop: await widget({ group_id: group.id }) };
}

async function visitorCase(shop: Widget): Promise<{ id: string; token: string }> {
  const { access_token: token } = await visitor(shop);
  return { id: (await openCase(token)).id, token };
}

/** As many as are asked for; the type says four, so that they can be named. */
async function people(count: number, role = 'member'): Promise<[Reader, Reader, Reader, Reader]> {
  const made: Reader[] = [];
  while (made.length < count) made.push(await newReader(app, role));
  return made as [Reader, Reader, Reader, Reader];
}

async function customerService(): Promise<string> {
  return (await need<List<MessagingGroup>>('GET', `${GROUPS}?q=customer service`)).data[0]!.id;
}

function members(groupId: string, of: readonly Reader[]): Promise<MessagingGroup> {
  return need('PATCH', `${GROUPS}/${groupId}`, { body: { members: of.map(({ id }) => id) } });
}

async function create(more: object, token = demo.api_key): Promise<string> {
  const body = { type: 'group', audience: 'customer', ...more };
  return (await need<Conversation>('POST', CONVERSATIONS, { body, token })).id;
}

function patch(id: string, body: object, token = demo.api_key): Promise<Conversation> {
  return need('PATCH', `${CONVERSATIONS}/${id}`, { body, token });
}

function add(id: string, { id: actor_id }: Reader): Promise<Participant> {
  return need('POST', `${CONVERSATIONS}/${id}/participants`, { body: { type: 'user', actor_id } });
}

function shown({ token }: Pick<Reader, 'token'>, id: string): Promise<Conversation> {
  return need('GET', `${CONVERSATIONS}/${id}`, { token });
}

async function participants(id: string): Promise<readonly Participant[]> {
  const { data } = await need<List<Participant>>('GET', `${CONVERSATIONS}/${id}/participants?limit=100`);
  return data.filter(({ type, membership }) => type === 'user' && membership === 'active');
}

async function usersIn(id: string): Promise<string[]> {
  return (await participants(id)).map(({ actor_id }) => actor_id!);
}

async function viaOf(id: string): Promise<Record<string, string | null>> {
  return Object.fromEntries(
    (await participants(id)).map(({ actor_id, via_group_id }) => [actor_id, via_group_id]),
  );
}

async function feed(reader: {
  readonly token?: string;
  readonly access_token?: string;
}): Promise<Notification[]> {
  const token = reader.token ?? reader.access_token!;
  const { data } = await need<List<Notification>>('GET', FEED, { token });
  return data.filter(({ category }) => category === 'chat.message' || category === 'chat.mention');
}
