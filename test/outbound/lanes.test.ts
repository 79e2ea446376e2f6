import t from 'tap';
import { Lanes } from '../../src/platform/outbound/lanes.ts';

interface One {
  readonly lane: string;
  readonly end: () => void;
  readonly ended: Promise<void>;
}

t.test('many slow receivers leave each other one try at a time', async (t) => {
  const begun: string[] = [];
  let drained = 0;
  const lanes = new Lanes<One>({
    laneOf: ({ lane }) => lane,
    sideBySide: 3,
    crowd: 5,
    room: 4,
    run: ({ lane, ended }) => {
      begun.push(lane);
      return ended;
    },
    onDrained: () => {
      drained += 1;
    },
  });
  const add = (lane: string): One => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const one = { lane, end, ended };
    return lanes.add(one) ? one : { ...one, lane: 'none' };
  };
  const a = ['a', 'a', 'a', 'a', 'a'].map(add);
  t.strictSame([begun, a.at(-1)!.lane], [['a', 'a', 'a'], 'none'], 'three under way, one behind them');
  const b = ['b', 'b', 'b'].map(add);
  t.strictSame(begun.slice(3), ['b', 'b'], 'until it is a crowd');
  const c = ['c', 'c'].map(add);
  t.strictSame(begun.slice(5), ['c'], 'a healthy one still gets its turn');
  t.strictSame(
    lanes.rooms(),
    new Map([
      ['a', 0],
      ['b', 1],
      ['c', 2],
    ]),
  );
  t.ok(lanes.withdraw(b[2]!));
  t.notOk(lanes.withdraw(b[0]!), 'it has begun');
  c[0]!.end();
  await c[0]!.ended;
  await Promise.resolve();
  t.strictSame(begun.slice(6), ['c']);
  for (const one of [...a, ...b, ...c]) one.end();
  await lanes.idle(60_000);
  t.strictSame([lanes.underWay, drained, begun.length], [[], 1, 8]);
});
