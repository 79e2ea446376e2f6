/** What is done with messages: shown at once, taken back if it is refused, live for the others. */

import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import type { LiveConversation } from '../index.ts';
import { allOf, bodiesOf, byId, NAMES, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace } = demo.users;
const conversations = new OpenConversations(app);

t.test('an edit', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'edits');
  await mine.send('beside it');
  const { id } = await mine.send('ahoy');
  await until(() => byId(theirs, id), { what: 'the message' });
  const [beside] = mine.messages;

  const editing = mine.edit(id, 'aye');
  t.match(byId(mine, id), { body: 'aye', edited_at: String }, 'shown at once');
  t.match(await editing, { id, body: 'aye', sender: { id: ada.id } });
  const answered = byId(mine, id);
  t.match(answered, { body: 'aye', edited_at: String });
  await until(() => byId(theirs, id)?.body === 'aye', { what: 'the edit, for the other' });
  t.equal(byId(mine, id), answered, 'the event changes nothing any more');
  t.equal(mine.messages[0], beside, 'other messages are the same objects');

  const refused = theirs.edit(id, 'mine');
  t.equal(byId(theirs, id)?.body, 'mine');
  await t.rejects(refused, { name: 'ParleyError', code: 'insufficient_permissions', isTransient: false });
  t.equal(byId(theirs, id)?.body, 'aye', 'taken back');

  const mentioned = await mine.edit(id, { body: 'aye, Grace', mentions: [grace.id] });
  t.strictSame(mentioned.mentions, [grace.id]);
  await Promise.all([mine.edit(id, 'first'), mine.edit(id, 'second')]);
  await until(() => byId(theirs, id)?.body === 'second', { what: 'what was done last' });
  t.equal((await mine.message(id)).body, 'second');
});

t.test('a deletion', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'deletions');
  const { id } = await mine.send('ahoy');
  await until(() => byId(theirs, id), { what: 'the message' });
  const refused = theirs.delete(id);
  t.match(byId(theirs, id), { body: null, deleted_at: String }, 'shown at once');
  await t.rejects(refused, { name: 'ParleyError', code: 'insufficient_permissions' });
  t.match(byId(theirs, id), { body: 'ahoy', deleted_at: null }, 'taken back');

  const deleting = mine.delete(id);
  t.match(byId(mine, id), { body: null, deleted_at: String });
  t.match(await deleting, { id, deleted_at: String });
  t.match(byId(mine, id), { body: null, deleted_at: String, delivery: 'sent' });
  await until(() => byId(theirs, id)?.deleted_at, { what: 'the tombstone, for the other' });
  await t.rejects(mine.edit(id, 'again'), { name: 'ParleyError', code: 'resource_gone' });
  t.equal(byId(mine, id)?.body, null);
});

t.test('pins', async (t) => {
  const { mine, theirs, id: group } = await conversations.both(t, 'pins');
  const pinned = ({ snapshot }: LiveConversation) => snapshot.pins.map(({ message }) => message.body);
  t.strictSame([pinned(mine), pinned(theirs)], [[], []], 'read from now on');
  const sent = await Promise.all(['one', 'two', 'three'].map((body) => mine.send(body)));
  const [one, two] = sent as [(typeof sent)[0], (typeof sent)[0]];
  await until(() => theirs.messages.length === 3, { what: 'the messages' });

  const pinning = mine.pin(one.id);
  t.strictSame(pinned(mine), ['one'], 'shown at once');
  t.match(await pinning, { message_id: one.id, pinned_by: ada.id, pinned_at: String });
  await until(() => pinned(theirs).length === 1, { what: 'the pin, for the other' });
  await theirs.pin(two.id);
  await until(() => pinned(mine).length === 2, { what: 'the pin of the other' });
  t.strictSame(pinned(mine), ['two', 'one'], 'the last pinned first');
  const { pins } = mine.snapshot;
  const by = () => mine.snapshot.people.get(pins[0]!.pinned_by!);
  await until(() => by()?.name === NAMES.grace, { what: 'by whom' });

  await mine.edit(two.id, 'two, edited');
  await until(() => pinned(theirs).includes('two, edited'), { what: 'the edit of a pinned message' });
  t.equal(mine.snapshot.pins[1], pins[1], 'the other pin is the same object');

  // A page that does not show the message reads its pins.
  const narrow = await conversations.open(t, group, { pageSize: 1 });
  await until(() => narrow.snapshot.pins.length === 2, { what: 'the pins of a late page' });
  await mine.unpin(two.id);
  await until(() => pinned(narrow).length === 1 && pinned(theirs).length === 1, { what: 'no pin' });
  await theirs.pin(two.id);
  await until(() => pinned(narrow).length === 2, { what: 'a pin of a message that is not shown' });

  await mine.delete(one.id);
  await until(() => pinned(theirs).join() === 'two, edited', { what: 'a deleted message loses its pin' });
  const refused = mine.pin(one.id);
  await t.rejects(refused, { name: 'ParleyError', code: 'resource_gone' });
  await until(() => pinned(mine).join() === 'two, edited', { what: 'the pin taken back' });
  await t.rejects(mine.unpin('msg_none'), { name: 'ParleyError', code: 'resource_not_found' });
});

t.test('reactions', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'reactions');
  const { id } = await mine.send('ahoy');
  const shown = (conversation: LiveConversation) =>
    (byId(conversation, id)?.reactions ?? [])
      .map(({ emoji, count, mine }) => `${emoji}${count}${mine ? ' mine' : ''}`)
      .join(', ');
  await until(() => byId(theirs, id), { what: 'the message' });
  const reacting = mine.react(id, '👍');
  t.equal(shown(mine), '👍1 mine', 'shown at once');
  await reacting;
  await until(() => shown(theirs) === '👍1', { what: 'the reaction' });
  const second = theirs.react(id, '👍');
  t.equal(shown(theirs), '👍2 mine');
  await second;
  t.equal(shown(theirs), '👍2 mine', 'the answer is what was shown');

  // Keyboards write the same emoji with and without a selector.
  await mine.react(id, '❤');
  const again = theirs.react(id, '❤️');
  t.equal(shown(theirs).split(', ').length, 2);
  await again;
  await Promise.all([theirs.unreact(id, '❤'), theirs.react(id, '❤'), theirs.unreact(id, '❤')]);
  await until(() => shown(mine) === '👍2 mine, ❤️1 mine', { what: 'what was done last' });
  t.strictSame(
    (await allOf(mine.reactions(id, { emoji: '👍', limit: 1 }))).map(({ actor }) => actor.name),
    [NAMES.ada, NAMES.grace],
    'with their actors',
  );

  const refused = mine.react(id, 'no emoji');
  t.match(shown(mine), /no emoji1 mine/);
  await t.rejects(refused, { name: 'ParleyError', code: 'parameter_invalid', param: 'emoji' });
  t.equal(shown(mine), '👍2 mine, ❤️1 mine', 'taken back');
});

t.test('a message is forwarded', async (t) => {
  const { mine } = await conversations.both(t, 'from here');
  const target = await conversations.group('to there');
  const there = await conversations.open(t, target, { as: 'grace' });
  const { id } = await mine.send('ahoy');
  const forwarded = await mine.forward(id, { conversation_id: target, body: 'Look:' });
  t.match(forwarded, { body: 'Look:\n\nahoy', conversation_id: target, sender: { id: ada.id } });
  await until(() => bodiesOf(there).includes('Look:\n\nahoy'), { what: 'the message there' });
  await t.rejects(mine.forward(id, { conversation_id: 'cnv_none' }), {
    name: 'ParleyError',
    code: 'resource_not_found',
    param: 'conversation_id',
  });
});

t.test('revisions under legal hold, and a redaction', async (t) => {
  const { mine, theirs, id: group } = await conversations.both(t, 'holds');
  const { id } = await mine.send('before');
  const hold = (legal_hold: string) =>
    app.call('POST', `/v1/messaging/conversations/${group}/actions/set-legal-hold`, { body: { legal_hold } });
  await hold('held');
  await mine.edit(id, 'after');
  t.match(await allOf(mine.revisions(id)), [{ body: 'before', replaced_by: { id: ada.id } }]);
  await t.rejects(mine.delete(id), { name: 'ParleyError', code: 'resource_conflict' });
  t.equal(byId(mine, id)?.body, 'after');
  await hold('released');

  await t.rejects(theirs.redact(id, 'personal data'), { code: 'insufficient_permissions' });
  t.match(await mine.redact(id, 'personal data'), { redaction: { reason: 'personal data', by: ada.id } });
  await until(() => byId(theirs, id)?.deleted_at, { what: 'the tombstone' });
  t.equal(byId(theirs, id)?.body, null);
  await t.rejects(allOf(mine.revisions('msg_none')), { code: 'resource_not_found' });
});

t.test('files, history and single messages', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'files');
  for (let n = 1; n <= 5; n++) await mine.send(`${n}`);
  const attachment = await mine.upload(new File(['hi'], 'notes.txt', { type: 'text/plain' }));
  const { id, sequence } = await mine.send({ attachments: [attachment] });
  t.match(await allOf(theirs.files({ limit: 1 })), [
    { filename: 'notes.txt', size_bytes: 2, message_id: id, sender: { id: ada.id } },
  ]);
  t.match(await theirs.message(id, ['attachments']), { attachments: [{ filename: 'notes.txt' }] });
  const { value: around } = await theirs.history({ around_sequence: 3, limit: 3 }).next();
  t.strictSame(
    around?.data.map(({ body }) => body),
    ['4', '3', '2'],
  );
  const behind = await allOf(theirs.history({ after_sequence: sequence! - 1, include: ['attachments'] }));
  t.match(behind, [{ id, attachments: [{ filename: 'notes.txt' }] }]);
  t.match(await theirs.outcome(id), { result: 'sent' });
  await t.rejects(theirs.message('msg_none'), {
    name: 'ParleyError',
    code: 'resource_not_found',
    status: 404,
  });
});
