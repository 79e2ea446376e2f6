/** The conversation itself, its members and what they do, as a page sees them change. */

import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import t from 'tap';
import { Cases } from '../../../test/messages/cases.ts';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import { Activity } from '../conversation/view/activity.ts';
import type { LiveConversation } from '../index.ts';
import { openNetwork } from './network.ts';
import { allOf, byId, NAMES, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace, vera } = demo.users;
const conversations = new OpenConversations(app);

t.test('a snapshot is the same until something changes, and says what', async (t) => {
  const id = await conversations.group('snapshots');
  const conversation = conversations.client(t).conversation(id);
  t.match(conversation.snapshot, { status: 'loading', messages: [], end: null });
  const changes: string[] = [];
  conversation.on('change', ({ what }) => changes.push(what));
  await conversation.opened;
  t.equal(conversation.snapshot.status, 'ready');
  await until(() => conversation.snapshot.conversation, { what: 'the resource, read for the first time' });
  const { snapshot } = conversation;
  t.equal(conversation.snapshot, snapshot);
  t.ok(changes.includes('status') && changes.includes('conversation') && changes.includes('hasOlder'));
  changes.length = 0;
  const sending = conversation.send('ahoy');
  t.not(conversation.snapshot, snapshot);
  t.equal(conversation.snapshot.messages, conversation.messages);
  t.equal(snapshot.messages.length, 0, 'an old snapshot stays as it was');
  t.equal(conversation.snapshot.pins, snapshot.pins, 'what did not change is the same');
  await sending;
  t.notOk(changes.includes('pins'));
  conversation.close();
  const closed = conversation.snapshot;
  await until(() => conversation.snapshot === closed, { what: 'nothing more' });
});

t.test('what is asked for before there is a connection waits', async (t) => {
  const { mine } = await conversations.both(t, 'early');
  const { id: pinned } = await mine.send('pinned');
  await mine.pin(pinned);
  const early = conversations.client(t).conversation(mine.id);
  t.strictSame([early.snapshot.pins, early.messages, early.hasOlder], [[], [], true]);
  const pins = new Promise<number>((resolve) => {
    early.on('change', ({ what }) => what === 'pins' && resolve(early.snapshot.pins.length));
  });
  const thread = early.thread(pinned);
  const sending = Promise.all([early.send('one'), early.send('two'), thread.send('three')]);
  t.match(await early.message(pinned), { id: pinned });
  t.match(await allOf(early.files()), []);
  t.strictSame(
    (await sending).map(({ body }) => body),
    ['one', 'two', 'three'],
  );
  await Promise.all([early.opened, thread.opened]);
  t.equal(await pins, 1);
  await until(() => thread.snapshot.messages.length === 1, { what: 'the reply' });

  const closed = conversations.client(t).conversation(mine.id);
  closed.close();
  const sent = await closed.send('behind a closed door');
  await until(() => byId(mine, sent.id), { what: 'the message' });
  t.equal(closed.snapshot.status, 'loading');
});

t.test('the resource: title, workflow, assignee and status', async (t) => {
  const { id } = await new Cases(app).open();
  const mine = await conversations.open(t, id);
  const update = (body: object) => app.call('PATCH', `/v1/messaging/conversations/${id}`, { body });
  const shown = () => mine.snapshot.conversation;
  await until(() => shown(), { what: 'the resource' });
  t.match(shown(), { title: 'Pier', workflow_status: 'new', assignee: null, participants: Array });
  await update({ title: 'Harbor' });
  await until(() => shown()?.title === 'Harbor', { what: 'the title' });
  await update({ assignee_id: grace.id });
  await until(() => shown()?.assignee?.name === NAMES.grace, { what: 'the assignee, with its name' });
  await update({ workflow_status: 'resolved' });
  await until(() => shown()?.workflow_status === 'resolved', { what: 'the lane' });
  await update({ status: 'archived' });
  await until(() => shown()?.status === 'archived', { what: 'the status, which its event lacks' });
  t.match(shown(), { assignee: { id: grace.id }, title: 'Harbor' });
});

t.test('members come, change and go', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'members');
  const names = ({ snapshot }: LiveConversation) =>
    (snapshot.conversation?.participants ?? []).map(({ actor, role }) => `${actor?.name} ${role}`).sort();
  const [a, g, v] = [`${NAMES.ada} owner`, `${NAMES.grace} member`, `${NAMES.vera} member`];
  await until(() => names(theirs).join() === [a, g].sort().join(), { what: 'the members' });
  const added = await mine.addMember({ type: 'user', actor_id: vera.id });
  t.match(added, { actor: { id: vera.id }, role: 'member' });
  await until(() => names(theirs).join() === [a, g, v].sort().join(), { what: 'one more' });
  t.match(await mine.member(added.id), { id: added.id, membership: 'active' });
  t.equal((await allOf(mine.members({ limit: 1 }))).length, 3);
  await mine.updateMember(added.id, { role: 'viewer' });
  await until(() => names(theirs).includes(`${NAMES.vera} viewer`), { what: 'the role' });
  const { sequence } = await mine.send('welcome');
  await conversations.client(t, { as: 'vera' }).conversations.markRead(mine.id, sequence!);
  await until(() => theirs.reads.has(vera.id), { what: 'how far the new one has read' });
  await mine.removeMember(added.id);
  await until(() => names(theirs).length === 2, { what: 'one less' });
  await until(() => !theirs.reads.has(vera.id), { what: 'the position is gone too' });
  t.match(await allOf(mine.members({ membership: ['removed'] })), [{ id: added.id }]);

  const unknown = mine.addMember({ type: 'user', actor_id: 'act_none' });
  await t.rejects(unknown, { name: 'ParleyError', param: 'actor_id' });
  const mineInTheirs = theirs.snapshot.conversation!.participants!.find(
    ({ actor_id }) => actor_id === ada.id,
  )!;
  await t.rejects(theirs.removeMember(mineInTheirs.id), { code: 'insufficient_permissions' });
});

t.test('mute, hide and leave', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'own state');
  const own = () => theirs.snapshot.conversation?.participants?.find(({ actor_id }) => actor_id === grace.id);
  await until(() => own(), { what: 'the participant' });
  const endsAt = new Date(Date.now() + 3_600_000).toISOString();
  t.match(await theirs.mute(endsAt), { notifications: 'muted', muted_until: String });
  await until(() => own()?.muted_until, { what: 'the mute' });
  await theirs.unmute();
  await until(() => own()?.notifications === 'unmuted', { what: 'the end of the mute' });
  t.match(await theirs.mute(), { notifications: 'muted', muted_until: null });

  t.match(await theirs.hide(), { status: 'hidden' });
  await until(() => theirs.snapshot.conversation?.status === 'hidden', { what: 'hidden' });
  t.match(await theirs.unhide(), { status: 'active' });
  await until(() => theirs.snapshot.conversation?.status === 'active', { what: 'shown again' });

  const ends: unknown[] = [];
  theirs.on('end', (why) => ends.push(why));
  t.match(await theirs.leave(), { membership: 'left' });
  await until(() => theirs.snapshot.status === 'ended', { what: 'the end' });
  t.match(theirs.snapshot, { end: 'revoked', messages: [], conversation: null, hasOlder: false });
  t.strictSame(ends, ['revoked']);
  await until(() => mine.snapshot.conversation?.participants?.length === 1, { what: 'the other is gone' });

  const key = await conversations.open(t, mine.id, { token: demo.api_key });
  await t.rejects(key.mute(), { name: 'ParleyError', code: 'resource_not_found' });
  await t.rejects(theirs.hide(), { name: 'ParleyError', code: 'resource_not_found' });
});

t.test('what is unread, here and on another device', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'unread');
  const phone = await conversations.open(t, mine.id);
  const unread = ({ snapshot }: LiveConversation) => snapshot.conversation?.unread;
  await until(() => unread(mine) === 0 && unread(phone) === 0, { what: 'the resource' });
  const sent = [await theirs.send('one'), await theirs.send('two'), await theirs.send('three')];
  await until(() => unread(mine) === 3 && unread(phone) === 3, { what: 'three' });
  await mine.send('mine');
  await theirs.delete(sent[2]!.id);
  await until(() => unread(mine) === 2 && unread(phone) === 2, { what: 'deleted and own ones do not count' });
  await mine.markRead(sent[0]!.sequence!);
  t.equal(unread(mine), 1);
  await until(() => unread(phone) === 1, { what: 'the position, on the phone' });
  await phone.markRead();
  await until(() => unread(mine) === 0, { what: 'all read, on the phone' });
  await mine.markUnread(sent[1]!.sequence!);
  t.match(mine.snapshot.conversation, { unread: 1, last_read_sequence: sent[1]!.sequence! - 1 });
  await until(() => unread(phone) === 1, { what: 'unread again, on the phone' });
});

t.test('names behind every id', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'names');
  await theirs.send('ahoy');
  await until(() => mine.messages.length === 1, { what: 'the message' });
  await mine.markRead();
  await until(() => theirs.reads.get(ada.id)?.actor.name === NAMES.ada, { what: 'by whom it was read' });
  t.equal(theirs.reads.get(ada.id)?.sequence, 1);
  // A page that was not there has the positions too.
  const late = await conversations.open(t, mine.id);
  await until(() => late.snapshot.reads.get(ada.id)?.sequence === 1, { what: 'the position, read late' });
  t.equal(late.snapshot.reads.get(ada.id)?.actor.name, NAMES.ada);

  theirs.typing();
  const typing = await until(() => mine.snapshot.typing[0], { what: 'typing' });
  t.match(typing, { id: grace.id, name: NAMES.grace });

  const fresh = await conversations.open(t, mine.id);
  const people: string[] = [];
  fresh.on('change', ({ what }) => what === 'people' && people.push(what));
  const { snapshot } = fresh;
  t.equal(snapshot.people.get(vera.id), undefined, 'not known yet');
  await until(() => people.length > 0, { what: 'an actor that was asked for' });
  t.match(fresh.snapshot.people.get(vera.id), { name: NAMES.vera });
  t.not(fresh.snapshot.people, snapshot.people);
});

t.test('presence, which a lost connection forgets', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const id = await conversations.group('presence');
  const client = conversations.client(t, { url: network.url });
  const mine = client.conversation(id);
  const other = conversations.client(t, { as: 'grace' });
  other.conversation(id);
  await other.request('presence', { status: 'away' });
  await until(() => mine.snapshot.presence.get(grace.id) === 'away', { what: 'presence' });
  const { presence } = mine.snapshot;
  network.target = 'http://127.0.0.1:1';
  network.cut();
  await until(() => mine.snapshot.presence.size === 0, { what: 'nothing is known any more' });
  t.equal(presence.get(grace.id), 'away', 'an old snapshot stays as it was');
  network.target = app.baseUrl;
  await until(() => mine.snapshot.presence.get(grace.id) === 'away', { what: 'presence again' });
});

t.test('who is no member any more when all are read has no position', async (t) => {
  const changes: string[] = [];
  const host = { actors: new Map(), actor: () => null, timing: { after: () => () => {} } };
  const core = { id: 'cnv_1', host, changed: (what: string) => changes.push(what) };
  const activity = new Activity(core as unknown as ConstructorParameters<typeof Activity>[0]);
  const member = (actor_id: string, last_read_sequence: number | null) =>
    ({ actor_id, last_read_sequence, membership: 'active' }) as Participant;
  activity.join([member('act_1', 4), member('act_2', 2)]);
  activity.join([member('act_2', 3)]);
  t.strictSame([...activity.reads.keys()], ['act_1', 'act_2'], 'one that has changed');
  activity.join([member('act_2', 1)], true);
  t.strictSame(
    [...activity.reads.values()].map(({ sequence }) => sequence),
    [3],
  );
  activity.doubt();
  activity.receive({ event: 'read', data: { actor_id: 'act_1', sequence: 7 } } as EventOf<'read'>);
  activity.join([member('act_1', 5), member('act_2', null)], true);
  t.strictSame(
    [...activity.reads].map(([id, { sequence }]) => [id, sequence]),
    [['act_1', 7]],
    'of a new membership',
  );
  t.strictSame(new Set(changes), new Set(['reads']));
});

t.test('a case, for its customer and for backends', async (t) => {
  const { id, customerToken } = await new Cases(app).open();
  const mine = await conversations.open(t, id);
  const customer = await conversations.open(t, id, { token: customerToken });
  await until(() => customer.snapshot.conversation, { what: 'the resource, for the customer' });
  const { id: messageId } = await mine.send({ body: 'Hello', audience: 'customer' });
  await until(() => byId(customer, messageId), { what: 'the message' });
  await mine.send('a note');
  await customer.react(messageId, '👍');
  await until(() => byId(mine, messageId)?.reactions?.length === 1, { what: 'the reaction' });
  t.strictSame([customer.snapshot.pins, customer.snapshot.drafts], [[], []]);
  await t.rejects(customer.pin(messageId), { name: 'ParleyError' });
  t.strictSame(customer.snapshot.pins, []);
  const participant = (await allOf(mine.members())).find(({ type }) => type === 'customer')!;
  t.match(await mine.customerToken(participant.id), { access_token: String });
});
