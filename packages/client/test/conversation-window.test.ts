/** The messages around an old one, and a timeline that forgets what is old. */

import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import { bodiesOf, byId, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const conversations = new OpenConversations(app);

t.test('a window around a message takes what is new once it reaches the newest', async (t) => {
  const { mine, theirs, id } = await conversations.both(t, 'window');
  for (let n = 1; n <= 12; n++) await mine.send(`${n}`);
  const narrow = await conversations.open(t, id, { pageSize: 2 });
  const fifth = mine.messages[4]!.id!;
  const around = narrow.around(fifth, { pageSize: 3 });
  t.match(around.snapshot, { status: 'loading', messages: [] });
  await around.opened;
  t.strictSame(bodiesOf(around.snapshot), ['4', '5', '6']);
  t.match(around.snapshot, { status: 'ready', hasOlder: true, hasNewer: true });

  await theirs.send('new');
  await mine.edit(fifth, 'five');
  await until(() => byId(around.snapshot, fifth)?.body === 'five', { what: 'the edit' });
  await until(() => bodiesOf(narrow).includes('new'), { what: 'the new message in the timeline' });
  t.strictSame(bodiesOf(around.snapshot), ['4', 'five', '6'], 'the new message is not appended');
  void narrow.send('of this page');
  t.notOk(bodiesOf(around.snapshot).includes('of this page'), 'nor is an echo');

  t.equal(await around.loadOlder(), false);
  t.strictSame(bodiesOf(around.snapshot).slice(0, 3), ['1', '2', '3']);
  t.equal(await around.loadNewer(), true);
  t.strictSame(bodiesOf(around.snapshot).slice(-3), ['7', '8', '9']);
  t.equal(await around.loadNewer(), false, 'it has reached the newest');
  const rest = ['10', '11', '12', 'new', 'of this page'];
  await until(() => bodiesOf(around.snapshot).slice(-5).join() === rest.join(), { what: 'the newest' });
  await theirs.send('newer');
  await until(() => bodiesOf(around.snapshot).at(-1) === 'newer', { what: 'a message that is appended' });
  t.equal(around.snapshot.messages.length, 15);
  t.equal(await around.loadNewer(), false);

  const { snapshot } = around;
  around.close();
  await theirs.send('later');
  await until(() => bodiesOf(narrow).at(-1) === 'later', { what: 'the next message' });
  t.equal(around.snapshot, snapshot);
});

t.test('a window by a number joins the timeline that begins where it ends', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'joins');
  for (let n = 1; n <= 6; n++) await mine.send(`${n}`);
  const around = mine.around(3, { pageSize: 2 });
  await around.opened;
  await until(() => !around.snapshot.hasNewer, { what: 'the timeline is there' });
  t.strictSame(bodiesOf(around.snapshot), ['1', '2', '3', '4', '5', '6']);
  await theirs.send('7');
  await until(() => bodiesOf(around.snapshot).at(-1) === '7', { what: 'the next message' });

  const missing = mine.around('msg_missing');
  await t.rejects(missing.opened, { code: 'resource_not_found' });
  t.match(missing.snapshot, { status: 'ended', end: { code: 'resource_not_found' }, messages: [] });
  t.equal(mine.snapshot.status, 'ready', 'the conversation goes on');
});

t.test('what is old is dropped, and read again', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'forgets');
  for (let n = 1; n <= 6; n++) await mine.send(`${n}`);
  t.equal(mine.hasOlder, false);
  await mine.forgetOlder(2);
  t.strictSame(bodiesOf(mine), ['5', '6']);
  t.equal(mine.hasOlder, true);
  await mine.forgetOlder(10);
  t.strictSame(bodiesOf(mine), ['5', '6']);
  await theirs.send('7');
  await until(() => bodiesOf(mine).at(-1) === '7', { what: 'the next message' });
  t.equal(await mine.loadOlder(), false);
  t.strictSame(bodiesOf(mine), ['1', '2', '3', '4', '5', '6', '7']);
});
