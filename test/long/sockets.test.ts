/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * packages/client/react, src/features/mail, src/platform/outbound.
 */

import t from 'tap';
import { sockets } from '../campaigns/sockets.ts';
import { historyProblems, type Received } from '../support/check-delivery.ts';

t.test('a short run of the campaign of sockets, on every way at once', async (t) => {
  const ways = ['sockets', 'streams', 'streams-mute', 'polls', 'polls-mute', 'changing'] as const;
  const figures = await sockets(t, {
    seed: 7,
    ways,
    sockets: 6,
    conversations: 6,
    messages: 240,
    seconds: 8,
    strikes: 2,
    restarts: 2,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.messages >= 240);
  t.equal(figures.acknowledged, figures.messages + (figures.changes.send ?? 0));
  for (const kind of KINDS) t.ok(figures.compared[kind], `${kind} was compared`);
  t.ok(figures.reconnected.sockets! >= 6, 'both nodes went: every socket had to reconnect');
  t.ok(figures.overtaken > 0, 'frames came out of order');
  for (const [fault, count] of Object.entries(figures.faults)) {
    t.ok(count >= 2 || fault.startsWith('proxy '), `${fault}: ${count} times`);
  }
  t.strictSame([figures.faults.SIGTERM, figures.faults.SIGKILL], [2, 2]);
  const used = (way: string) => Object.keys(figures.transports[way]!);
  for (const way of ['streams', 'streams-mute']) t.strictSame(used(way), ['stream'], way);
  for (const way of ['polls', 'polls-mute']) t.strictSame(used(way), ['poll'], way);
  t.ok(used('changing').length > 1, used('changing').join());
});

const KINDS = ['edit', 'deletion', 'notification.created', 'notification.updated', 'conversation.updated'];

t.test('the checker of histories finds what is wrong', async (t) => {
  const stored = history([1, 'a'], [2, 'b'], [4, 'd'], [5, 'e']);
  t.same(historyProblems(stored, stored), []);
  t.same(historyProblems([], []), []);
  const WRONG: Readonly<Record<string, readonly [got: readonly Received[], problem: RegExp]>> = {
    'the first missing': [stored.slice(1), /^missing: 1 \(1\)$/],
    'one in the middle missing': [history([1, 'a'], [2, 'b'], [5, 'e']), /^missing: 4 /],
    'the last missing': [stored.slice(0, -1), /^missing: 5 /],
    nothing: [[], /^missing: 1, 2, 4, 5 \(4\)$/],
    'two swapped': [history([1, 'a'], [4, 'd'], [2, 'b'], [5, 'e']), /^2 came behind 4$/],
    'one twice in a row': [history([1, 'a'], [2, 'b'], [2, 'b'], [4, 'd'], [5, 'e']), /^2 came behind 2$/],
    'one again at the end': [[...stored, ...stored.slice(1, 2)], /^2 came behind 5$/],
    'all of it again': [[...stored, ...stored], /^1 came behind 5$/],
    'a number that nobody has': [
      history([1, 'a'], [2, 'b'], [3, 'c'], [4, 'd'], [5, 'e']),
      /^not in Postgres: 3$/,
    ],
    'another message under a number': [history([1, 'a'], [2, 'x'], [4, 'd'], [5, 'e']), /^2 is x, not b$/],
    'two numbers exchanged': [history([1, 'a'], [2, 'd'], [4, 'b'], [5, 'e']), /^2 is d, not b$/],
    'one message under two numbers': [
      history([1, 'a'], [2, 'b'], [4, 'b'], [5, 'e']),
      /^b came as 2 and as 4$/,
    ],
    'more than there is': [[...stored, { sequence: 6, id: 'f' }], /^not in Postgres: 6$/],
  };
  for (const [name, [got, problem]] of Object.entries(WRONG)) {
    const problems = historyProblems(got, stored);
    t.ok(
      problems.some((found) => problem.test(found)),
      `${name}: ${problems}`,
    );
  }
});

function history(...messages: readonly [sequence: number, id: string][]): Received[] {
  return messages.map(([sequence, id]) => ({ sequence, id }));
}
