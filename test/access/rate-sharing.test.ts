import t from 'tap';
import { RateLimiter } from '../../src/api/access/rate-limit.ts';
import { RateSharing } from '../../src/api/access/rate-sharing.ts';
import { type Addition, type Engine, EngineUnavailableError } from '../../src/platform/engine/engine.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const SOUND = { shardOf: () => ({ healthy: true, inDoubt: false }) };

/** All but one percent of 300. */
const LEAST = 297;
const MOST = 303;

t.test('two nodes keep a burst to the limit', async (t) => {
  const { nodes } = connect(t, { requests: 300, seconds: 60 });
  const passed = await burst(nodes, { requests: 900, turn: (n) => n % 2 });
  t.ok(passed >= LEAST && passed <= MOST, `${passed} passed`);
  for (const node of nodes) t.notOk(await passes(node), 'both refuse');
});

t.test('two nodes keep an uneven burst to the limit', async (t) => {
  const { nodes } = connect(t, { requests: 300, seconds: 60 });
  const passed = await burst(nodes, { requests: 900, turn: (n) => (n % 10 === 0 ? 1 : 0) });
  t.ok(passed >= LEAST && passed <= MOST, `${passed} passed`);
});

t.test('each window has the whole limit again', async (t) => {
  let nowMs = 5_000;
  const { nodes } = connect(t, { requests: 300, seconds: 10, now: () => nowMs });
  for (let window = 0; window < 5; window++) {
    const passed = await burst(nodes, { requests: 900, turn: (n) => n % 2 });
    t.ok(passed >= LEAST && passed <= MOST, `${passed} passed`);
    nowMs += 10_000;
  }
});

t.test('two nodes keep steady requests to the limit', async (t) => {
  const { nodes, tallied } = connect(t, { requests: 300, seconds: 60 });
  let passed = 0;
  for (let n = 0; n < 900; n++) {
    if (await passes(nodes[n % 2]!)) passed += 1;
    if (n % 150 !== 149) continue;
    const seen = tallied().length;
    await until(() => tallied().length > seen, { what: 'an exchange in between' });
  }
  t.ok(passed >= LEAST && passed <= MOST, `${passed} passed`);
});

t.test(
  'a caller far from its limit does not wait, and one known to be over it is refused at once',
  async (t) => {
    const { nodes, tallied } = connect(t, { requests: 600, seconds: 60 });
    for (let n = 0; n < 3; n++) t.notOk(nodes[0].consume('key') instanceof Promise);
    await until(() => tallied().some(({ key, by }) => key === 'credentials:key' && by === 3), {
      what: 'the exchange behind it',
    });
    t.notOk(nodes[0].consume('key') instanceof Promise, 'after an exchange');
    await burst([nodes[1], nodes[1]], { requests: 900, turn: () => 0 });
    await until(() => throws(() => nodes[1].consume('key')), { what: 'a refusal at once' });
  },
);

t.test('a node that is busy takes in advance: few of its requests wait', async (t) => {
  const { nodes, tallied } = connect(t, { requests: 100_000, seconds: 60 });
  await burst([nodes[0], nodes[0]], { requests: 20_000, turn: () => 0 });
  t.ok(tallied().length < 200, `${tallied().length} exchanges for 20,000 requests`);
});

t.test('requests that a node reserved and does not use go to the other node', async (t) => {
  const { nodes } = connect(t, { requests: 300, seconds: 60 });
  let passed = await burst([nodes[0], nodes[0]], { requests: 100, turn: () => 0 });
  t.equal(passed, 100);
  await until(
    async () => {
      passed += await burst([nodes[1], nodes[1]], { requests: 300, turn: () => 0 });
      return passed >= LEAST;
    },
    { what: 'the rest of the limit' },
  );
  t.ok(passed <= MOST);
});

t.test('a node that stops gives back what it took, and counts alone from then on', async (t) => {
  const engine = new MemoryEngine();
  const limiter = new RateLimiter({ requests: 300, seconds: 60 });
  const sharing = new RateSharing(engine, { credentials: limiter });
  t.equal(await burst([limiter, limiter], { requests: 50, turn: () => 0 }), 50);
  await sharing.close();
  const [tally] = await engine.tally([{ key: 'credentials:key', by: 0, windowMs: 60_000 }]);
  t.equal(tally?.total, 50);
  t.match(limiter.consume('key'), { remaining: 249 });
  for (let n = 0; n < 249; n++) await limiter.consume('key');
  t.ok(throws(() => limiter.consume('key')));
});

t.test('the headers of one node include the count of the other', async (t) => {
  const { nodes } = connect(t, { requests: 1_000, seconds: 60 });
  const remaining = async (node: RateLimiter) => (await node.consume('key'))!.remaining;
  t.equal(await remaining(nodes[0]), 999);
  t.equal(await burst(nodes, { requests: 599, turn: (n) => (n % 3 === 0 ? 1 : 0) }), 599);
  for (const node of nodes) {
    // Requests reserved in advance are returned first.
    await until(async () => (await remaining(node)) > 300, { what: 'what is left' });
    t.ok((await remaining(node)) < 400);
  }
  t.match(nodes[0].consume('other'), { remaining: 999 }, 'keys are apart');
});

t.test('a link that is away: each counts alone, and nothing fails', async (t) => {
  const engine = new MemoryEngine();
  let isAway = true;
  let asked = 0;
  const link = {
    ...SOUND,
    tally: (additions: readonly Addition[]) => {
      asked += 1;
      return isAway ? Promise.reject(new EngineUnavailableError()) : engine.tally(additions);
    },
  };
  const limiter = new RateLimiter({ requests: 5, seconds: 60 });
  const sharing = new RateSharing(link, { credentials: limiter });
  t.teardown(() => sharing.close());
  t.match(await limiter.consume('key'), { remaining: 4 }, 'the request that found it away');
  t.equal(asked, 1);
  for (let n = 0; n < 4; n++) t.notOk(limiter.consume('key') instanceof Promise);
  t.ok(throws(() => limiter.consume('key')));
  isAway = false;
  await until(() => throws(() => limiter.consume('key')) && asked > 1, { what: 'an attempt to share' });
  const total = async () =>
    (await engine.tally([{ key: 'credentials:key', by: 0, windowMs: 60_000 }]))[0]!.total;
  await until(async () => (await total()) === 5, { what: 'what was counted meanwhile' });
});

t.test('a shard that does not answer: its keys are counted alone, others are shared', async (t) => {
  const engine = new MemoryEngine();
  const hung = { healthy: true, inDoubt: false };
  const { promise: never, reject: end } = Promise.withResolvers<never>();
  const asked: string[] = [];
  const link: Pick<Engine<unknown>, 'tally' | 'shardOf'> = {
    shardOf: (key) => (key === 'credentials:hung' ? hung : engine),
    tally: (additions) => {
      asked.push(...additions.map(({ key }) => key));
      return additions.some(({ key }) => key === 'credentials:hung') ? never : engine.tally(additions);
    },
  };
  const limiter = new RateLimiter({ requests: 5, seconds: 60 });
  const sharing = new RateSharing(link, { credentials: limiter });
  const passedOf = async (key: string) => {
    const passing = Array.from({ length: 7 }, async () => limiter.consume(key));
    return (await Promise.allSettled(passing)).filter(({ status }) => status === 'fulfilled').length;
  };
  t.same(await Promise.all([passedOf('hung'), passedOf('whole')]), [5, 5]);
  t.ok(limiter.consume('other') instanceof Promise, 'other keys still ask');
  const total = async () =>
    (await engine.tally([{ key: 'credentials:whole', by: 0, windowMs: 60_000 }]))[0]!.total;
  await until(async () => (await total()) === 5, { what: 'the counts of the other shard' });
  t.equal(asked.filter((key) => key === 'credentials:hung').length, 1, 'it is not asked again meanwhile');
  end(new EngineUnavailableError());
  hung.healthy = false;
  await sharing.close();
});

t.test('keys without a limit are not shared', async (t) => {
  const limiter = new RateLimiter(null);
  const link = { ...SOUND, tally: () => Promise.reject(t.fail('nothing to share')) };
  const sharing = new RateSharing(link, { credentials: limiter });
  for (let n = 0; n < 10; n++) t.equal(limiter.consume('key'), undefined);
  await sharing.close();
});

interface LimitOfTest {
  readonly requests: number;
  readonly seconds: number;
  readonly now?: () => number;
}

/** Two nodes over one engine that answers a tick later. */
function connect(t: Teardown, { requests, seconds, now }: LimitOfTest) {
  const engine = new MemoryEngine(now === undefined ? {} : { now });
  const tallied: Addition[] = [];
  const link: Pick<Engine<unknown>, 'tally' | 'shardOf'> = {
    ...SOUND,
    tally: async (additions) => {
      const tallies = await engine.tally(additions);
      await new Promise((resolve) => setImmediate(resolve));
      tallied.push(...additions);
      return tallies;
    },
  };
  const makeNode = () => {
    const limiter = new RateLimiter({ requests, seconds }, now === undefined ? {} : { now });
    const sharing = new RateSharing(link, { credentials: limiter });
    t.teardown(() => sharing.close());
    return limiter;
  };
  return {
    nodes: [makeNode(), makeNode()] as const,
    tallied: () => tallied,
  };
}

interface Burst {
  readonly requests: number;
  /** The index of the node of each request. */
  readonly turn: (n: number) => number;
}

/** Sends with 40 callers at once. Returns how many requests passed. */
async function burst(nodes: readonly [RateLimiter, RateLimiter], { requests, turn }: Burst): Promise<number> {
  let sent = 0;
  let passed = 0;
  const caller = async () => {
    while (sent < requests) {
      if (await passes(nodes[turn(sent++)]!)) passed += 1;
    }
  };
  await Promise.all(Array.from({ length: 40 }, caller));
  return passed;
}

async function passes(node: RateLimiter): Promise<boolean> {
  try {
    await node.consume('key');
    return true;
  } catch {
    return false;
  }
}

function throws(consume: () => unknown): boolean {
  try {
    consume();
    return false;
  } catch {
    return true;
  }
}
