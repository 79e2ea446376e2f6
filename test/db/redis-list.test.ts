import { pino } from 'pino';
import t from 'tap';
import type { Database } from '../../src/platform/db/connection/database.ts';
import { changeRedisList, RedisList } from '../../src/platform/db/notices/redis-list.ts';
import type { Due } from '../../src/platform/db/queue/due-watch.ts';
import { createGround } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });

t.test('the first node writes the list, and a single Redis may move', async (t) => {
  const { database } = await createGround(t);
  const open = (...known: string[]) => RedisList.open({ database, known, log });
  t.match(await open('here:6379'), { number: 1, names: ['here:6379'] });
  t.match(await open('there:6379'), { number: 1, names: ['there:6379'] });
  t.match(await open('there:6379', 'b'), { number: 1, names: ['there:6379'] }, 'it joins with the old list');
  await t.rejects(
    open('here:6379', 'b'),
    /^REDIS_URL has no Redis there:6379, [^\n]*`admin redis use`[^\n]*$/,
  );
});

t.test('all nodes change over together, and none that lacks one is left behind', async (t) => {
  const { database } = await createGround(t);
  await RedisList.open({ database, known: ['a'], log });
  const [first, second] = await Promise.all([openNode(database, ['a', 'b']), openNode(database, ['b', 'a'])]);
  const late = await openNode(database, ['a']);
  const looking = lookAgain(t, database, [first, second, late]);
  await t.rejects(changeRedisList(database, ['a', 'b']), /no Redis b/);
  t.same(
    [first, second, late].map(({ used }) => used),
    [[], [], []],
  );

  looking.delete(late);
  t.same(await changed(database, ['a', 'b']), { number: 2, names: ['a', 'b'] });
  for (const node of [first, second]) {
    t.same(node.used, [['a', 'b']]);
    t.ok(node.underWay > 2, 'it was in doubt before and after');
    t.match(node.list, { number: 2, names: ['a', 'b'] });
  }
  t.same(await changeRedisList(database, ['b', 'a']), { number: 2, names: ['a', 'b'] }, 'no other list');

  looking.add(late);
  await until(() => late.lacking !== undefined, { what: 'the node that was hung meanwhile to stop' });
  t.match(late.lacking!.message, /no Redis b.*list 2: a, b/);
  await t.rejects(RedisList.open({ database, known: ['a'], log }), /no Redis b/);

  t.match(
    await changeRedisList(database, ['b']).catch((error) => error),
    /no Redis b/,
    'it has not gone yet',
  );
  looking.delete(late);
  t.match(await changed(database, ['b']), { number: 3 });
  t.same(first.used, [['a', 'b'], ['b']]);
  t.match(await RedisList.open({ database, known: ['b'], log }), { number: 3, names: ['b'] });
});

/** Changes the list, as soon as the last look of a node that is gone has ended. */
function changed(database: Database, names: readonly string[]) {
  const refused = () => undefined;
  return until(() => changeRedisList(database, names).catch(refused), { what: 'the change' });
}

interface Node {
  readonly list: RedisList;
  readonly due: Due;
  readonly used: (readonly string[])[];
  underWay: number;
  lacking: Error | undefined;
}

async function openNode(database: Database, known: readonly string[]): Promise<Node> {
  const list = await RedisList.open({ database, known, log });
  const dues: Due[] = [];
  const node: Omit<Node, 'due'> = { list, used: [], underWay: 0, lacking: undefined };
  list.follow(
    { add: (due) => dues.push(due) },
    {
      onUnderWay: () => {
        node.underWay += 1;
      },
      use: async (names) => void node.used.push(names),
      onLacking: (error) => {
        node.lacking = error;
      },
    },
  );
  return Object.assign(node, { due: dues[0]! });
}

/** Looks twice a second for each node of the set, as DueWatch does. */
function lookAgain(t: { teardown(end: () => void): void }, database: Database, nodes: Node[]): Set<Node> {
  const looking = new Set(nodes);
  const timer = setInterval(() => {
    for (const { due } of looking) {
      const beganMs = performance.now();
      void database.pool
        .query(`SELECT ${due.condition} AS is_due`)
        .then(({ rows }) => due.onLook?.(rows[0].is_due === true, beganMs));
    }
  }, 500);
  t.teardown(() => clearInterval(timer));
  return looking;
}
