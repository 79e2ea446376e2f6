import { createHash } from 'node:crypto';
import type { EventFrame, EventName } from '@parley/protocol/socket/events.ts';
import t from 'tap';
import { until } from '../../../test/support/until.ts';
import { ConversationFeed, type Message } from '../events/conversation-feed.ts';

/** `c` created, `u` updated, then the message's number and the second of its version. */
type Step = `${'c' | 'u'}${number}@${number}`;

/** Received → delivered; `m` is a message, `u` a change of one. */
const HISTORIES: Readonly<Record<string, readonly [steps: readonly Step[], expected: readonly string[]]>> = {
  'in order': [
    ['c1@1', 'c2@2', 'u1@3'],
    ['m1@1', 'm2@2', 'u1@3'],
  ],
  'a message twice': [
    ['c1@1', 'c1@1', 'c2@2'],
    ['m1@1', 'm2@2'],
  ],
  'two connections, one behind the other': [
    ['c1@1', 'c2@2', 'c1@1', 'c3@3', 'c2@2', 'c3@3', 'c4@4', 'c4@4'],
    ['m1@1', 'm2@2', 'm3@3', 'm4@4'],
  ],
  'a number before the others': [['c2@2', 'c1@1'], ['m2@2']],
  'numbers left out are not waited for': [
    ['c1@1', 'c4@4'],
    ['m1@1', 'm4@4'],
  ],
  'a change twice': [
    ['c1@1', 'u1@2', 'u1@2'],
    ['m1@1', 'u1@2'],
  ],
  'a change after a later one': [
    ['c1@1', 'u1@3', 'u1@2'],
    ['m1@1', 'u1@3'],
  ],
  'a change that the message had already': [['c1@3', 'u1@2', 'u1@3'], ['m1@3']],
  'a replayed message that was changed meanwhile': [
    ['c1@1', 'c1@2'],
    ['m1@1', 'u1@2'],
  ],
  'a change ahead of its message': [
    ['u1@2', 'c1@1'],
    ['m1@1', 'u1@2'],
  ],
  'two changes ahead, the older one last': [
    ['u1@3', 'u1@2', 'c1@1'],
    ['m1@1', 'u1@3'],
  ],
  'a change ahead that the message has already': [['u1@2', 'c1@2'], ['m1@2']],
};

for (const [name, [steps, expected]] of Object.entries(HISTORIES)) {
  t.test(name, async (t) => {
    const { feed, log } = open(0);
    for (const step of steps) feed.receive(frameOf(step));
    t.strictSame(
      log.filter((line) => !line.startsWith('through')),
      expected,
    );
  });
}

t.test('a feed delivers messages from a number on', async (t) => {
  const { feed, log } = open(5);
  for (const step of ['c4@4', 'c5@5', 'u5@6', 'c6@7'] as const) feed.receive(frameOf(step));
  t.strictSame(log, ['u5@6', 'm6@7', 'through 6'], 'changes of older ones come too');
  t.strictSame([feed.position, feed.completeThrough], [6, 6]);
  feed.complete(9);
  feed.complete(8);
  t.strictSame([feed.position, feed.completeThrough], [6, 9], 'numbers without a message count as complete');
});

t.test('nothing before it is known where to begin', async (t) => {
  const { feed, log } = open(undefined);
  feed.receive(frameOf('c7@1'));
  feed.begin(7);
  feed.receive(frameOf('c8@2'));
  t.strictSame(log, ['through 7', 'm8@2', 'through 8']);
});

t.test('other events: durable ones once, ephemeral ones as they come', async (t) => {
  const { feed, log } = open(0);
  const draft = (second: number) => event('draft.updated', { id: 'msg_d' }, second);
  for (const frame of [draft(2), draft(2), draft(1), draft(3)]) feed.receive(frame);
  const typing = event('typing', { actor_id: 'usr_1', state: 'start' }, 4);
  feed.receive(typing);
  feed.receive(typing);
  t.strictSame(log, ['draft.updated', 'draft.updated', 'typing', 'typing']);
});

t.test('a message while it is written', async (t) => {
  const { feed, log, reloaded } = open(0);
  const end = (body: string, sealed: string) => {
    const stream = { attempt: 1, length: sealed.length, sha256: hashOf(sealed) };
    return event('message.updated', { ...messageOf(1, 5), body, streaming_state: 'complete', stream }, 5);
  };
  feed.receive(event('message.created', { ...messageOf(1, 1), body: '', streaming_state: 'streaming' }, 1));
  feed.receive(delta(0, 'Good '));
  feed.receive(delta(0, 'Good '));
  feed.receive(delta(5, 'morning'));
  feed.receive(end('Good morning', 'Good morning'));
  feed.receive(delta(0, 'Good '));
  t.strictSame(log, ['m1@1', 'through 1', 'writing Good ', 'writing Good morning', 'written true', 'u1@5']);
  t.strictSame(reloaded, []);

  const other = open(0);
  other.feed.receive(event('message.created', { ...messageOf(1, 1), streaming_state: 'streaming' }, 1));
  other.feed.receive(delta(5, 'morning'));
  other.feed.receive(end('Good mourning', 'Good morning'));
  t.strictSame(other.log, ['m1@1', 'through 1', 'written false', 'u1@5']);
  await until(() => other.reloaded.length > 0, { what: 'a text that is not the sealed one, over REST' });
  t.strictSame(other.reloaded, ['msg_1']);
  t.strictSame(reloaded, []);
});

t.test('the end without its seal, as it is after a resume', async (t) => {
  for (const [body, matched] of [
    ['Good ', true],
    ['Good morning', false],
  ] as const) {
    const { feed, log, reloaded } = open(0);
    feed.receive(event('message.created', { ...messageOf(1, 1), body: '', streaming_state: 'streaming' }, 1));
    feed.receive(delta(0, 'Good '));
    feed.receive(event('message.updated', { ...messageOf(1, 5), body, streaming_state: 'complete' }, 5));
    feed.receive(delta(5, 'evening'));
    t.strictSame(log, ['m1@1', 'through 1', 'writing Good ', `written ${matched}`, 'u1@5']);
    t.strictSame(reloaded, []);
  }
});

t.test('a draft while it is written', async (t) => {
  const { feed, log, reloaded } = open(0);
  const draft = { ...messageOf(1, 1), sequence: null, body: '' };
  feed.receive(event('draft.created', { ...draft, streaming_state: 'streaming' }, 1));
  feed.receive(delta(0, 'Dear '));
  feed.receive(delta(5, 'Cleo'));
  const stream = { attempt: 1, length: 9, sha256: hashOf('Dear Cleo') };
  const end = { ...draft, body: 'Dear Cleo', streaming_state: 'complete', stream };
  feed.receive(event('draft.updated', end, 5));
  feed.receive(event('draft.updated', { ...end, stream: undefined, body: 'edited' }, 6));
  t.strictSame(log, [
    'draft.created',
    'writing Dear ',
    'writing Dear Cleo',
    'written true',
    'draft.updated',
    'draft.updated',
  ]);
  t.strictSame(reloaded, []);
});

t.test('a message whose beginning was before', async (t) => {
  const { feed, log } = open(1);
  feed.receive(delta(3, 'later'));
  feed.receive(event('message.snapshot', { message_id: 'msg_1', attempt: 1, body: 'So far' }, 2));
  feed.receive(delta(6, ', so good'));
  t.strictSame(log, ['writing So far', 'writing So far, so good']);
});

t.test('a message that pieces of it have come ahead of', async (t) => {
  for (const [state, ...expected] of [
    ['streaming', 'm1@1', 'writing So far', 'through 1', 'writing So far, so good'],
    ['complete', 'm1@1', 'written false', 'through 1'],
  ] as const) {
    const { feed, log } = open(0);
    feed.receive(event('message.snapshot', { message_id: 'msg_1', attempt: 2, body: 'So far' }, 2));
    // Read over REST, as it was kept by then.
    feed.receiveMessage({ ...messageOf(1, 1), body: 'So', streaming_state: state } as Message);
    feed.receive(
      event('message.delta', { message_id: 'msg_1', attempt: 2, offset: 6, text: ', so good' }, 3),
    );
    t.strictSame(log, ['writing So far', ...expected], state);
  }
});

t.test('what was purged is said once, and changes of it are ignored', async (t) => {
  const { feed, log } = open(4);
  const purged = (through_sequence: number) =>
    event('messages.purged', { conversation_id: 'cnv_1', through_sequence }, through_sequence);
  feed.receive(frameOf('u6@9'));
  for (const through of [3, 3, 2, 6]) feed.receive(purged(through));
  feed.receive(frameOf('c6@1'));
  t.strictSame(log, ['purged 3', 'purged 6', 'm6@1', 'through 6'], 'the held change is dropped');
});

function open(position: number | undefined) {
  const log: string[] = [];
  const reloaded: string[] = [];
  const shown = ({ sequence, updated_at }: Message) => `${sequence}@${Number(updated_at.slice(17, 19))}`;
  const feed = new ConversationFeed(
    'cnv_1',
    position,
    {
      onMessage: (message) => log.push(`m${shown(message)}`),
      onUpdate: (message) => log.push(`u${shown(message)}`),
      onStreaming: ({ body }) => log.push(`writing ${body}`),
      onStreamEnd: ({ matched }) => log.push(`written ${matched}`),
      onEvent: ({ event }) => log.push(event),
      onPurged: (through) => log.push(`purged ${through}`),
      onComplete: (through) => log.push(`through ${through}`),
    },
    (messageId) => reloaded.push(messageId),
  );
  return { feed, log, reloaded };
}

function frameOf(step: Step): EventFrame {
  const [, kind, sequence, second] = /^(.)(\d+)@(\d+)$/.exec(step)!;
  const name = kind === 'c' ? 'message.created' : 'message.updated';
  return event(name, messageOf(Number(sequence), Number(second)), Number(second));
}

function messageOf(sequence: number, second: number) {
  return { id: `msg_${sequence}`, sequence, body: 'ahoy', streaming_state: null, updated_at: at(second) };
}

function delta(offset: number, text: string): EventFrame {
  return event('message.delta', { message_id: 'msg_1', attempt: 1, offset, text }, 1);
}

function event(name: EventName, data: object, second: number): EventFrame {
  return { type: 'event', event: name, conversation_id: 'cnv_1', at: at(second), data };
}

function at(second: number): string {
  return `2026-11-21T06:00:${String(second).padStart(2, '0')}.000000Z`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
