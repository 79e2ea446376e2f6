/** Which transport comes next, by how connections end. */

import t from 'tap';
import { TRANSPORTS, type Transport } from '../link/transport.ts';
import { TransportChoice } from '../link/transport-choice.ts';
import { type KeyValueStorage, TransportMemory } from '../link/transport-memory.ts';

const ORIGIN = 'https://chat.example';
const DAY_MS = 86_400_000;

t.test(
  'a transport without an answer: the next one at once, and after the last the best again',
  async (t) => {
    const choice = chooseFrom();
    t.equal(choice.current, 'websocket');
    t.equal(choice.failed('websocket', 'unanswered'), true);
    t.equal(choice.current, 'stream');
    t.equal(choice.failed('stream', 'unanswered'), true);
    t.equal(choice.current, 'poll');
    t.equal(choice.hasNext, false);
    t.equal(choice.failed('poll', 'unanswered'), false, 'no network: it waits');
    t.equal(choice.current, 'websocket');
  },
);

t.test('connections that end early share one budget', async (t) => {
  const choice = chooseFrom();
  t.equal(choice.failed('websocket', 'answered'), false);
  t.equal(choice.current, 'websocket', 'one may be chance');
  t.equal(choice.failed('websocket', 'answered'), true);
  t.equal(choice.current, 'stream');
  choice.opened('stream');
  t.equal(choice.failed('stream', 'answered'), true, 'nothing is left for the next transport');
  t.equal(choice.current, 'poll');
  choice.opened('poll');
  choice.proved('poll');
  t.equal(choice.failed('poll', 'answered'), false, 'a heartbeat restores it');
  t.equal(choice.current, 'poll');
});

t.test('an end after a heartbeat says nothing about the transport', async (t) => {
  const choice = chooseFrom();
  for (let n = 0; n < 5; n++) t.equal(choice.failed('websocket', 'proven'), false);
  t.equal(choice.current, 'websocket');
});

t.test('a server that stops does not look like a proxy at once', async (t) => {
  const choice = chooseFrom();
  choice.opened('websocket');
  choice.proved('websocket');
  t.equal(choice.failed('websocket', 'unanswered'), false);
  t.equal(choice.failed('websocket', 'unanswered'), true);
});

t.test('a better transport that works, and one that only seemed to', async (t) => {
  const choice = chooseFrom();
  choice.failed('websocket', 'unanswered');
  choice.failed('stream', 'unanswered');
  choice.opened('poll');
  choice.proved('poll');
  t.strictSame(choice.better, ['websocket', 'stream']);
  t.equal(choice.failed('websocket', 'unanswered'), false, 'a try beside the current one');
  t.equal(choice.current, 'poll');
  choice.opened('stream');
  t.equal(choice.current, 'stream');
  t.equal(choice.failed('stream', 'answered'), true, 'it is held back after its first frames');
  t.equal(choice.current, 'poll');
});

t.test('an application that names its transports', async (t) => {
  const one = chooseFrom({ allowed: ['stream'] });
  t.equal(one.current, 'stream');
  t.equal(one.hasNext, false);
  t.equal(one.failed('stream', 'unanswered'), false);
  t.equal(one.current, 'stream');
  const two = chooseFrom({ allowed: ['poll', 'websocket'] });
  t.equal(two.current, 'websocket', 'the best first, in whichever order they are named');
  two.failed('websocket', 'unanswered');
  t.equal(two.current, 'poll');
  t.throws(() => chooseFrom({ allowed: [] }), TypeError);
  t.throws(() => chooseFrom({ allowed: ['pigeon' as Transport] }), TypeError);
});

t.test('what works is remembered by server, for a day', async (t) => {
  const storage = new Map<string, string>();
  const first = chooseFrom({ storage });
  first.recall(ORIGIN);
  first.failed('websocket', 'unanswered');
  t.strictSame([...storage], [], 'not before it works');
  first.opened('stream');
  const [[key, value] = ['', '']] = storage;

  const second = chooseFrom({ storage });
  second.recall(ORIGIN);
  t.equal(second.current, 'stream');
  second.opened('stream');
  t.equal(storage.get(key), value, 'it keeps its age');
  const elsewhere = chooseFrom({ storage });
  elsewhere.recall('https://other.example');
  t.equal(elsewhere.current, 'websocket');
  const without = chooseFrom({ storage, allowed: ['websocket', 'poll'] });
  without.recall(ORIGIN);
  t.equal(without.current, 'websocket');

  storage.set(key, `stream ${Date.now() - DAY_MS - 1}`);
  const later = chooseFrom({ storage });
  later.recall(ORIGIN);
  t.equal(later.current, 'websocket');
  later.failed('websocket', 'unanswered');
  later.opened('stream');
  t.not(storage.get(key), undefined);
  second.opened('websocket');
  t.strictSame([...storage], [], 'the best one needs no memory');
});

t.test('a storage with something else in it, or none', async (t) => {
  for (const text of ['', 'stream', 'stream soon', `pigeon ${Date.now()}`, `stream ${Date.now() + DAY_MS}`]) {
    const choice = chooseFrom({ storage: { get: () => text, set() {}, delete() {} } });
    choice.recall(ORIGIN);
    t.equal(choice.current, 'websocket', JSON.stringify(text));
  }
  const forbidden = () => {
    throw new Error('SecurityError');
  };
  for (const storage of [undefined, { get: forbidden, set: forbidden, delete: forbidden }]) {
    const choice = chooseFrom({ storage });
    choice.recall(ORIGIN);
    choice.failed('websocket', 'unanswered');
    choice.opened('stream');
    choice.opened('websocket');
    t.equal(choice.current, 'websocket');
  }
});

interface Given {
  readonly allowed?: readonly Transport[];
  readonly storage?: Store | undefined;
}

interface Store {
  get(key: string): string | undefined;
  set(key: string, value: string): unknown;
  delete(key: string): unknown;
}

function chooseFrom({ allowed = TRANSPORTS, storage }: Given = {}): TransportChoice {
  const kept: KeyValueStorage | undefined = storage && {
    getItem: (key) => storage.get(key) ?? null,
    setItem: (key, value) => void storage.set(key, value),
    removeItem: (key) => void storage.delete(key),
  };
  return new TransportChoice(allowed, new TransportMemory(kept));
}
