/** What the list of conversations shows of each, and what can be done with it. */

import './english.ts';
import type { Client } from '@parley/client';
import { plainLine } from '@parley/markdown/plain-line.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import t from 'tap';
import { durationOf } from '../inbox/duration.ts';
import { VIEWS, viewOf } from '../inbox/inbox-view.ts';
import { lastMessageOf } from '../inbox/last-message.ts';
import { laterTimes } from '../inbox/later.ts';
import { filtersOf, textOf, UNFILTERED } from '../inbox/list-filters.ts';
import { type ActionContext, rowActions } from '../inbox/row-actions.ts';
import { nextRow, rowInstead } from '../inbox/use-row-focus.ts';
import { nameOf } from '../names/conversation-name.ts';

const ME = 'act_me';

t.test('names: the title, the others, the customer; never oneself or those that have left', async (t) => {
  const ada = member('act_ada', { name: 'Ada' });
  const gone = member('act_gone', { name: 'Gone', membership: 'left' });
  const me = member(ME, { name: 'Me' });
  const carl = member('act_carl', { name: 'Carl', type: 'customer' });
  const name = (fields: object) => nameOf(conversation(fields), ME).name;
  t.equal(name({ title: 'Plans', participants: [me, ada] }), 'Plans');
  t.equal(name({ participants: [me, ada, gone] }), 'Ada');
  t.equal(name({ participants: [me, gone] }), 'Untitled');
  t.equal(name({ audience: 'customer', participants: [me, ada, carl] }), 'Carl');
  const many = ['A', 'B', 'C', 'D', 'E'].map((letter) => member(`act_${letter}`, { name: letter }));
  t.equal(name({ participants: [me, ...many] }), 'A, B, C and 2 more');
  t.match(nameOf(conversation({ type: 'direct_message', participants: [me, ada] }), ME), {
    name: 'Ada',
    otherId: 'act_ada',
  });
});

t.test('the last message: by whom, as one line, notes of cases told apart', async (t) => {
  const last = (message: object | null, fields: object = {}) =>
    lastMessageOf(conversation({ last_message: message, ...fields }), ME);
  t.equal(last(null), null);
  t.strictSame(last(message({ body: '**See** `this`\n\n- one\n- two' })), {
    senderId: 'act_ada',
    text: 'See this one two',
    isNote: false,
  });
  t.match(last(message({ author_id: ME, sender_id: 'act_persona' })), { senderId: ME });
  t.match(last(message({ sender_id: 'act_persona' })), { senderId: 'act_persona' });
  t.match(last(message({}), { type: 'direct_message' }), { senderId: null });
  t.match(last(message({ kind: 'system_event', body: 'Ada joined.' })), {
    senderId: null,
    text: 'Ada joined.',
  });
  t.match(last(message({ kind: 'email', body: '5*3*2 =\n **30**' })), { text: '5*3*2 = **30**' });
  t.match(last(message({ body: null })), { text: 'Sent a file' });
  t.match(last(message({ body: null, streaming_state: 'streaming' })), { text: 'Writing…' });
  t.match(last(message({ visibility: 'internal' }), { audience: 'customer' }), { isNote: true });
  t.match(last(message({ visibility: 'external' }), { audience: 'customer' }), {
    isNote: false,
  });
});

t.test('Markdown as one line: no marks, no HTML, never too long', async (t) => {
  t.equal(plainLine('# Title\n\nSee [the plan](https://x.example) ~~now~~'), 'Title See the plan now');
  t.equal(
    plainLine('<b>not bold</b> & <script>alert(1)</script>'),
    '<b>not bold</b> & <script>alert(1)</script>',
  );
  t.equal(plainLine('| a | b |\n|---|---|\n| 1 | 2 |'), 'a b 1 2');
  t.equal(plainLine('```js\nlet x;\n```'), 'let x;');
  t.ok(plainLine('word '.repeat(1_000)).length <= 280);
});

t.test('actions: what the caller may not do is not offered', async (t) => {
  const me = member(ME, { role: 'member' });
  const other = message({ author_id: 'act_ada', sequence: 7 });
  const labels = (fields: object, context: Partial<ActionContext> = {}) =>
    rowActions(
      conversation({ participants: [me], last_message: other, ...fields }),
      contextWith(context),
    ).map(({ label }) => label);
  t.strictSame(labels({}), ['Mark as unread', 'Mute…', 'Snooze…', 'Hide until the next message']);
  t.strictSame(labels({ unread: 2 })[0], 'Mark as read');
  t.notOk(labels({ last_message: message({ author_id: ME, sequence: 7 }) }).includes('Mark as unread'));
  const owner = member(ME, { role: 'owner', notifications: 'muted' });
  t.match(labels({ participants: [owner], snoozed: true, status: 'archived' }), [
    'Mark as unread',
    'Unmute',
    'End the snooze',
    'Hide until the next message',
    'Unarchive',
  ]);
  t.ok(labels({ type: 'direct_message' }).includes('Archive'));
  t.notOk(labels({ type: 'direct_message' }, { can: () => false }).includes('Archive'));
  const ofCase = { audience: 'customer', workflow_status: 'open', assignee_id: null };
  t.match(labels(ofCase).slice(4), [
    'Assign to me',
    'Assign…',
    'Move to “Waiting for the team”',
    'Move to “Waiting for the customer”',
    'Resolve',
  ]);
  t.match(labels({ ...ofCase, assignee_id: ME, workflow_status: 'resolved' }).slice(4), [
    'Assign…',
    'Unassign',
    'Move to “Waiting for the team”',
    'Move to “Waiting for the customer”',
    'Reopen',
  ]);
  const viewer = member(ME, { role: 'viewer' });
  t.equal(labels({ ...ofCase, participants: [viewer] }).length, 4, 'a viewer changes nothing of others');
  t.strictSame(labels({ participants: [] }), [], 'a reader that is no member');
  t.strictSame(labels({ participants: [] }, { isAdmin: true }), ['Archive'], 'an admin that is no member');
});

t.test('actions call the SDK with what is shown', async (t) => {
  const calls: unknown[][] = [];
  const conversations = new Proxy(
    {},
    {
      get:
        (_, name) =>
        async (...args: unknown[]) =>
          void calls.push([name, ...args]),
    },
  );
  const client = { conversations } as unknown as Client;
  const me = member(ME, { role: 'owner' });
  const shown = conversation({ participants: [me], unread: 1, last_message: message({ sequence: 9 }) });
  let times: readonly { readonly label: string; readonly act: () => void }[] = [];
  const actions = rowActions(shown, contextWith({ client, onTimes: (items) => (times = items) }));
  Object.assign(globalThis, { location: new URL('http://x/console/') });
  const act = (name: string) => actions.find((action) => action.name === name)!.act();
  act('read');
  act('archive');
  act('mute');
  times.at(-1)!.act();
  act('snooze');
  times[0]!.act();
  t.match(calls, [
    ['markRead', 'cnv_1', 9],
    ['archive', 'cnv_1'],
    ['updateParticipant', 'cnv_1', `prt_${ME}`, { notifications: 'muted', muted_until: null }],
    ['snooze', 'cnv_1', Date],
  ]);
});

t.test('times to come: in order, not before now, of a working day', async (t) => {
  for (const day of [22, 23, 24, 25, 26, 27, 28]) {
    for (const hour of [2, 15.9, 17, 23]) {
      const now = new Date(2026, 10, day, hour, (hour % 1) * 60);
      const times = laterTimes(now);
      t.strictSame(
        times,
        times.toSorted((a, b) => a.at.getTime() - b.at.getTime()),
        String(now),
      );
      t.ok(times.every(({ at }) => at > now));
      t.equal(new Set(times.map(({ label }) => label)).size, times.length);
      const monday = times.find(({ label }) => label === 'Until Monday');
      t.ok(monday === undefined || monday.at.getDay() === 1);
    }
  }
});

t.test('views have ids of their own, and an unknown one is the first', async (t) => {
  t.equal(new Set(VIEWS.map(({ id }) => id)).size, VIEWS.length);
  t.equal(viewOf({ workflow_status: ['waiting_internal'] })?.id, 'waiting_internal');
  t.equal(viewOf(UNFILTERED), VIEWS[0]);
  t.equal(viewOf({ filter: ['unread'], workflow_status: ['open'] }), undefined, 'combined');
  const filters: ViewFilters = { order: 'waiting', filter: ['mine', 'unread'], assignee_id: 'me' };
  t.strictSame(textOf(filtersOf(textOf(filters))), textOf(filters));
  t.strictSame(filtersOf('order=oldest&filter=unread,all&colour=red'), { filter: ['unread'] });
  t.match(
    [durationOf(5), durationOf(60), durationOf(2880)].map(({ short }) => short),
    ['5 min', '1 h', '2 d'],
  );
});

t.test('rows by keys: by id, whatever stands above them', async (t) => {
  const ids = ['a', 'b', 'c'];
  t.equal(nextRow('j', ids, 'a'), 'b');
  t.equal(nextRow('ArrowDown', ids, 'c'), 'c');
  t.equal(nextRow('k', ids, 'a'), 'a');
  t.equal(nextRow('End', ids, 'a'), 'c');
  t.equal(nextRow('j', ids, undefined), 'a');
  t.equal(nextRow('x', ids, 'a'), undefined);
});

t.test('a row that leaves the list gives the focus to the one that followed it', async (t) => {
  const before = ['a', 'b', 'c', 'd'];
  t.equal(rowInstead('b', before, ['c', 'b', 'a']), 'b', 'the row is still there');
  t.equal(rowInstead('b', before, ['a', 'c', 'd']), 'c');
  t.equal(rowInstead('b', before, ['d', 'c', 'a']), 'c', 'another row moved up meanwhile');
  t.equal(rowInstead('b', before, ['a', 'd']), 'd', 'the following one left as well');
  t.equal(rowInstead('d', before, ['a', 'b', 'c']), 'c', 'the last row');
  t.equal(rowInstead('b', before, []), undefined);
  t.equal(rowInstead('b', ['a', 'c', 'd'], ['a', 'c']), undefined, 'it left earlier');
});

function conversation(fields: object): Conversation {
  return {
    id: 'cnv_1',
    type: 'group',
    audience: 'internal',
    title: null,
    participants: [],
    unread: 0,
    status: 'active',
    snoozed: false,
    last_message: null,
    workflow_status: null,
    assignee_id: null,
    ...fields,
  } as unknown as Conversation;
}

function message(fields: object): object {
  return {
    kind: 'chat',
    body: 'Hello',
    visibility: 'internal',
    author_id: 'act_ada',
    sender_id: 'act_ada',
    streaming_state: null,
    sequence: 1,
    ...fields,
  };
}

function member(
  actorId: string,
  { name = null, ...fields }: { name?: string | null; [field: string]: unknown },
) {
  return {
    id: `prt_${actorId}`,
    actor_id: actorId,
    type: 'user',
    role: 'member',
    membership: 'active',
    notifications: 'unmuted',
    actor: { id: actorId, name, handle: null, avatar_url: null },
    ...fields,
  };
}

function contextWith(context: Partial<ActionContext>): ActionContext {
  return {
    client: {} as Client,
    myId: ME,
    isAdmin: false,
    can: () => true,
    onTimes: () => {},
    onAssign: () => {},
    ...context,
  };
}
