/** Messages that wait: for their time, or for approval. */

import t from 'tap';
import { Cases } from '../../../test/messages/cases.ts';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import type { LiveConversation } from '../index.ts';
import { bodiesOf, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const { grace } = app.demo.users;
const conversations = new OpenConversations(app);
const cases = new Cases(app);

t.test('scheduled messages', async (t) => {
  const { mine, theirs, id: group } = await conversations.both(t, 'schedules');
  const other = await conversations.open(t, group);
  const shown = ({ snapshot }: LiveConversation) => snapshot.scheduled.map(({ body }) => body);
  t.strictSame([shown(mine), shown(theirs), shown(other)], [[], [], []], 'read from now on');

  const flashes: unknown[] = [];
  mine.on('change', () => flashes.push(...mine.messages));
  const later = await mine.send({ body: 'in two hours', scheduled_at: inHours(2) });
  t.match(later, { status: 'scheduled', sequence: null });
  const soon = await mine.send({ body: 'in one hour', scheduled_at: inHours(1) });
  await until(() => shown(mine).length === 2, { what: 'the schedules' });
  t.strictSame(shown(mine), ['in one hour', 'in two hours'], 'in the order in which they are due');
  await until(() => shown(other).length === 2, { what: 'the schedules, on another device' });
  t.strictSame(flashes, [], 'they were never in the timeline');

  const editing = mine.edit(later.id, { body: 'in half an hour', scheduled_at: inHours(0.5) });
  t.strictSame(shown(mine), ['in half an hour', 'in one hour'], 'shown at once');
  await editing;
  await until(() => shown(other)[0] === 'in half an hour', { what: 'the change, on another device' });
  const refused = mine.edit(later.id, { scheduled_at: inHours(-1) });
  await t.rejects(refused, { name: 'ParleyError', code: 'validation_failed', param: 'scheduled_at' });
  t.strictSame(shown(mine), ['in half an hour', 'in one hour'], 'taken back');

  await mine.cancel(soon.id);
  await until(() => shown(mine).length === 1 && shown(other).length === 1, { what: 'the end of one' });
  t.match(await mine.outcome(soon.id), { result: 'canceled' });
  await mine.sendNow(later.id);
  await until(() => bodiesOf(theirs).includes('in half an hour'), { what: 'the message' });
  await until(() => shown(mine).length === 0, { what: 'the end of the other' });
  await t.rejects(mine.sendNow(later.id), { name: 'ParleyError', code: 'resource_conflict' });
  t.strictSame(shown(theirs), [], 'they are the author’s alone');

  const past = mine.send({ body: 'too late', scheduled_at: inHours(-1) });
  await t.rejects(past, { name: 'ParleyError', code: 'validation_failed', param: 'scheduled_at' });
  const failed = mine.messages.at(-1);
  t.match(failed, { delivery: 'failed', body: 'too late' }, 'what a person wrote is not lost');
  mine.discard(failed!.key);
});

t.test('drafts', async (t) => {
  const { id, customerToken } = await cases.open();
  const [mine, theirs] = await Promise.all([
    conversations.open(t, id),
    conversations.open(t, id, { as: 'grace' }),
  ]);
  const customer = await conversations.open(t, id, { token: customerToken });
  const shown = ({ snapshot }: LiveConversation) => snapshot.drafts.map(({ body }) => body);
  t.strictSame([shown(mine), shown(theirs), shown(customer)], [[], [], []]);
  await customer.send('Where is my order?');

  const first = await mine.send({ mode: 'draft', channel: 'message', body: 'On its way' });
  t.match(first, { status: 'draft' });
  await until(() => shown(theirs).length === 1, { what: 'the draft, for the other' });
  t.notOk(bodiesOf(mine).includes('On its way'), 'it is not in the timeline');
  const editing = theirs.edit(first.id, 'On its way to you');
  t.strictSame(shown(theirs), ['On its way to you'], 'shown at once');
  await editing;
  await until(() => shown(mine)[0] === 'On its way to you', { what: 'the edit, for the other' });

  const stale = theirs.approve(first.id, { if_last_sequence: 0 });
  await t.rejects(stale, { name: 'ParleyError', code: 'resource_conflict', param: 'if_last_sequence' });
  const old = theirs.approve(first.id, { if_version: first.updated_at });
  await t.rejects(old, { name: 'ParleyError', code: 'resource_conflict', param: 'if_version' });
  t.match(await theirs.approve(first.id), { id: first.id, status: 'sent' }, 'what is shown is the newest');
  await until(() => bodiesOf(customer).includes('On its way to you'), { what: 'the reply' });
  await until(() => shown(mine).length === 0 && shown(theirs).length === 0, { what: 'no draft' });
  t.match(await mine.outcome(first.id), { result: 'sent' });
  await t.rejects(mine.approve(first.id, {}), { name: 'ParleyError', code: 'resource_conflict' });

  const second = await cases.draft(id, { body: 'Not this one' });
  await until(() => shown(mine).length === 1, { what: 'the second' });
  t.match(mine.snapshot.drafts, [{ id: second.id, sender: { type: 'group' } }]);
  t.match(await mine.reject(second.id, 'Too late.'), { status: 'rejected' });
  await until(() => shown(theirs).length === 0, { what: 'the rejection, for the other' });
  t.match(await theirs.outcome(second.id), { result: 'rejected', reason: 'Too late.' });
  await t.rejects(theirs.reject(second.id), { name: 'ParleyError', code: 'resource_conflict' });
  t.strictSame(shown(customer), [], 'customers see none');
});

t.test('an approval that does not fit what is shown', async (t) => {
  const { id, customerToken } = await cases.open();
  const mine = await conversations.open(t, id);
  const draft = await cases.draft(id, { body: 'Yes' });
  await until(() => mine.snapshot.drafts.length === 1, { what: 'the draft' });
  // Written behind the back of this page.
  mine.close();
  await app.call('POST', `/v1/messaging/conversations/${id}/messages`, {
    token: customerToken,
    body: { body: 'I meant the other one', client_message_id: 'other' },
  });
  await t.rejects(mine.approve(draft.id), { name: 'ParleyError', code: 'resource_conflict' });
  const late = await conversations.open(t, id, { token: grace.access_token });
  t.match(await late.approve(draft.id), { status: 'sent' });
});

t.test('the conversation is shown with the drafts that were asked for', async (t) => {
  const { id } = await cases.open();
  await cases.draft(id, { body: 'Here' });
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let isRead = false;
  const live = await conversations.open(t, id, {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      const { pathname, search } = new URL(String(input));
      isRead ||= pathname.endsWith(id);
      if (search.includes('status=draft')) await answered;
      return response;
    },
  });
  const states: string[] = [];
  const note = () =>
    void states.push(`${live.snapshot.conversation !== null} ${live.snapshot.drafts.length}`);
  note();
  live.on('change', note);
  await until(() => isRead, { what: 'the conversation' });
  // A page would have shown it by then.
  await app.call('GET', '/v1/me');
  answer();
  const isShown = () => live.snapshot.conversation !== null && live.snapshot.drafts.length === 1;
  await until(isShown, { what: 'both' });
  t.notOk(states.includes('true 0'), states.join());
});

function inHours(hours: number): string {
  return new Date(Date.now() + hours * 3_600_000).toISOString();
}
