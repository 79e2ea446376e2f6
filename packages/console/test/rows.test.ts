/** How messages become the lines of a timeline. */

import './english.ts';
import type { SentMessage } from '@parley/client';
import t from 'tap';
import { piecesOf } from '../message/message-text.ts';
import { type RowsInput, rowsOf } from '../timeline/rows.ts';
import { around, indexesOf, MOST_SHOWN, NEWEST, withNewer, withOlder } from '../timeline/shown-range.ts';

const NOON = Date.parse('2026-03-02T12:00:00Z');

function message(
  sequence: number,
  by: string,
  minutes: number,
  more: Partial<SentMessage> = {},
): SentMessage {
  return {
    id: `msg_${sequence}`,
    key: `msg_${sequence}`,
    sequence,
    delivery: 'sent',
    kind: 'chat',
    author_id: by,
    sender: { id: by },
    visibility: 'internal',
    deleted_at: null,
    reply_to_id: null,
    created_at: new Date(NOON + minutes * 60_000).toISOString(),
    ...more,
  } as SentMessage;
}

function drawn(messages: readonly SentMessage[], more: Partial<RowsInput> = {}): string {
  const shown = [0, messages.length] as const;
  const none = { line: null, ownId: 'me', customerIds: null, reads: new Map(), isNewest: true };
  return rowsOf({ messages, shown, ...none, ...more })
    .map((row) => {
      if (row.type !== 'message') return row.type;
      const { message, continues, readers } = row;
      return `${continues ? '+' : ''}${message.sequence}${readers === '' ? '' : `(${readers})`}`;
    })
    .join(' ');
}

t.test('messages of one author within minutes stand together', (t) => {
  const grace = [message(1, 'grace', 0), message(2, 'grace', 2), message(3, 'grace', 10)];
  t.equal(drawn(grace), 'day 1 +2 3');
  t.equal(drawn([message(1, 'grace', 0), message(2, 'ada', 1), message(3, 'ada', 2)]), 'day 1 2 +3');
  t.equal(drawn([message(1, 'grace', 0), message(2, 'grace', 24 * 60)]), 'day 1 day 2');
  t.equal(drawn([message(1, 'a', 0), message(2, 'a', 1, { reply_to_id: 'msg_0' })]), 'day 1 2');
  t.equal(drawn([message(1, 'a', 0), message(2, 'a', 1, { deleted_at: 'x' })]), 'day 1 2');
  t.equal(drawn([message(1, 'a', 0), message(2, 'a', 1, { kind: 'system_event' })]), 'day 1 2');
  t.end();
});

t.test('a note and a reply to the customer never stand together', (t) => {
  const customerIds = new Set(['nils']);
  const both = [message(1, 'a', 0), message(2, 'a', 1, { visibility: 'external' })];
  t.equal(drawn(both), 'day 1 +2');
  t.equal(drawn(both, { customerIds }), 'day 1 2');
  t.end();
});

t.test('the unread line stands above the first unread message of another person', (t) => {
  const all = [message(1, 'a', 0), message(2, 'me', 1), message(3, 'a', 2), message(4, 'a', 3)];
  t.equal(drawn(all, { line: 1 }), 'day 1 2 unread 3 +4');
  t.equal(drawn(all, { line: 0 }), 'day unread 1 2 3 +4');
  t.equal(drawn(all, { line: 4 }), 'day 1 2 3 +4');
  t.equal(drawn(all.slice(0, 2), { line: 1 }), 'day 1 2', 'not for own messages');
  t.end();
});

t.test('readers stand under the last message that each has read', (t) => {
  const all = [message(1, 'a', 0), message(2, 'b', 1), message(5, 'a', 2)];
  const reads = new Map([
    ['grace', { sequence: 3 }],
    ['me', { sequence: 5 }],
    ['vera', { sequence: 9 }],
    ['ada', { sequence: 0 }],
  ]);
  t.equal(drawn(all, { reads }), 'day 1 2(grace) 5(vera)');
  t.equal(drawn(all, { reads, shown: [0, 2] as const, isNewest: false }), 'day 1 2');
  const own = new Map([['a', { sequence: 5 }]]);
  t.equal(drawn(all, { reads: own }), 'day 1 2(a) 5', 'an author is no reader of the own message');
  t.end();
});

t.test('at most three hundred messages are in the document', (t) => {
  const keys = Array.from({ length: 1_000 }, (_, index) => ({ key: `k${index}` }));
  t.strictSame(indexesOf(keys, NEWEST, true), [940, 1_000]);
  let range = NEWEST;
  for (let n = 0; n < 5; n++) range = withOlder(keys, indexesOf(keys, range, false));
  t.strictSame(indexesOf(keys, range, false), [640, 940], 'the far end makes room');
  const more = [{ key: 'older' }, ...keys, { key: 'newer' }];
  t.strictSame(indexesOf(more, range, false), [641, 941], 'the same messages');
  range = withNewer(keys, indexesOf(keys, range, false));
  t.strictSame(indexesOf(keys, range, false), [700, 1_000]);
  const next = [...keys, { key: 'new' }];
  t.strictSame(indexesOf(next, range, false), [700, 1_000], 'a new one waits');
  t.strictSame(indexesOf(next, range, true), [701, 1_001], 'or is followed');
  t.equal(around(keys, [700, 1_000], 800), null);
  t.strictSame(indexesOf(keys, around(keys, [700, 1_000], 100)!, false), [40, 160]);
  t.ok(MOST_SHOWN <= 300);
  t.end();
});

t.test('mentions are found by name and by address, and nothing else is', (t) => {
  const ada = { id: 'ada', name: 'Ada Lovelace', handle: 'ada@example.com' } as never;
  const agent = { id: 'agent', name: 'Day Planner', handle: null } as never;
  const shown = (text: string) =>
    piecesOf(text, [ada, agent])
      .map(({ text: piece, mention }) => (mention === undefined ? piece : `[${piece}]`))
      .join('');
  t.equal(shown('@ada, see @Ada Lovelace'), '[@Ada Lovelace], see [@Ada Lovelace]');
  t.equal(shown('@day-planner and @Day Planner!'), '[@Day Planner] and [@Day Planner]!');
  t.equal(shown('@adamant x@ada.org @grace'), '@adamant x@ada.org @grace');
  t.end();
});
