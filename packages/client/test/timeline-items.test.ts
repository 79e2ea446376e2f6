/** How messages become the lines of a timeline, and which of them are unread. */

import t from 'tap';
import type { SentMessage } from '../index.ts';
import { itemsOf } from '../timeline/timeline-items.ts';
import { firstUnread, lastSent, newSince } from '../timeline/unread.ts';
import { askedAt, meant } from '../writing/mention-words.ts';

const EVENING = Date.parse('2026-03-02T22:58:00Z');

function message(sequence: number, by: string, minutes: number, more: object = {}): SentMessage {
  return {
    id: `msg_${sequence}`,
    key: `msg_${sequence}`,
    sequence,
    delivery: 'sent',
    author_id: by,
    sender: { id: by },
    deleted_at: null,
    reply_to_id: null,
    created_at: new Date(EVENING + minutes * 60_000).toISOString(),
    ...more,
  } as SentMessage;
}

function drawn(messages: readonly SentMessage[], more: Partial<Parameters<typeof itemsOf>[0]> = {}): string {
  return itemsOf({ messages, line: null, ownId: 'me', timeZone: 'UTC', ...more })
    .map((item) =>
      item.type === 'message' ? `${item.continues ? '+' : ''}${item.message.sequence}` : item.type,
    )
    .join(' ');
}

t.test('a day begins by the time zone that is given', (t) => {
  const across = [message(1, 'grace', 0), message(2, 'grace', 3)];
  t.equal(drawn(across), 'day 1 +2');
  t.equal(drawn(across, { timeZone: 'Europe/Berlin' }), 'day 1 day 2');
  t.end();
});

t.test('messages of one author within minutes stand together, unless they look different', (t) => {
  const three = [message(1, 'grace', 0), message(2, 'grace', 2), message(3, 'ada', 3)];
  t.equal(drawn(three), 'day 1 +2 3');
  t.equal(drawn(three, { isAlike: () => false }), 'day 1 2 3');
  t.equal(drawn(three, { shown: [1, 3] }), 'day +2 3');
  t.end();
});

t.test('the unread line and the counts leave out own and deleted messages', (t) => {
  const messages = [
    message(1, 'grace', 0),
    message(2, 'me', 0),
    message(3, 'grace', 0, { deleted_at: 'x' }),
    message(4, 'grace', 0),
    message(5, 'grace', 0, { id: null, sequence: null }),
  ];
  t.equal(drawn(messages.slice(0, 4), { line: 1 }), 'day 1 2 3 unread 4');
  t.equal(firstUnread(messages, 1, 'me'), 3);
  t.equal(firstUnread(messages, 4, 'me'), -1);
  t.equal(newSince(messages, 0, 'me'), 2);
  t.equal(lastSent(messages), 4);
  t.equal(lastSent([]), 0);
  t.end();
});

t.test('a name is asked for after an @, and found without its accents', (t) => {
  t.strictSame(askedAt('see @gr', 7), { from: 4, words: 'gr' });
  t.equal(askedAt('grace@example.com', 17), null);
  const people = [
    { name: 'Grace Hopper', detail: 'grace@example.com' },
    { name: 'Zoë', detail: '' },
  ];
  t.strictSame(meant('zoe', people), [people[1]]);
  t.strictSame(meant('hop', people), [people[0]]);
  t.end();
});
