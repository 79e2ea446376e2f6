import t from 'tap';
import { sockets } from '../campaigns/sockets.ts';
import { historyProblems, type Received } from '../support/check-delivery.ts';

t.test('a short run of the campaign of sockets', async (t) => {
  const options = { sockets: 20, conversations: 8, messages: 240, seconds: 3, restarts: true };
  const figures = await sockets(t, { seed: 7, ...options });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.equal(figures.acknowledged, 240 + (figures.changes.send ?? 0));
  for (const kind of KINDS) t.ok(figures.compared[kind], `${kind} was compared`);
  t.ok(figures.reconnected >= 20, 'both nodes went: every socket had to reconnect');
  t.ok(figures.overtaken > 0, 'frames came out of order');
});

for (const way of ['streams', 'streams-mute', 'polls', 'polls-mute', 'changing'] as const) {
  t.test(`a short run behind proxies: ${way}`, async (t) => {
    const restarts = !way.endsWith('mute');
    const options = { sockets: 8, conversations: 6, messages: 120, seconds: 3, restarts };
    const figures = await sockets(t, { seed: 7, way, ...options });
    t.same(figures.problems, [], JSON.stringify(figures));
    t.equal(figures.acknowledged, 120 + (figures.changes.send ?? 0));
    for (const kind of KINDS) t.ok(figures.compared[kind], `${kind} was compared`);
    const used = Object.keys(figures.transports);
    if (way === 'changing') t.ok(used.length > 1, used.join());
    else t.strictSame(used, [way.startsWith('streams') ? 'stream' : 'poll']);
  });
}

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
