import t from 'tap';
import { RateLimiter } from '../../src/access/rate-limit.ts';
import { RateSharing } from '../../src/access/rate-sharing.ts';
import { EngineUnavailableError } from '../../src/engine/engine.ts';
import { MemoryEngine } from '../../src/engine/memory-engine.ts';
import { until } from '../support/until.ts';

const LIMIT = { requests: 100_000, seconds: 60 };

t.test('what one node counted, the other one knows', async (t) => {
  const engine = new MemoryEngine();
  const nodes = [new RateLimiter(LIMIT), new RateLimiter(LIMIT)] as const;
  for (const limiter of nodes) {
    const sharing = new RateSharing(engine, { credentials: limiter });
    t.teardown(() => sharing.close());
  }
  consume(nodes[0], 'key', 60_000);
  consume(nodes[1], 'key', 30_000);
  consume(nodes[1], 'other', 1);
  for (const limiter of nodes) {
    await until(() => (limiter.consume('key')?.remaining ?? 0) < 10_001, { what: 'the other one’s count' });
  }
  t.ok((nodes[0].consume('other')?.remaining ?? 0) > 99_000, 'keys are apart');
  t.throws(() => consume(nodes[0], 'key', 15_000), 'together they are over the limit');
  await until(() => refuses(nodes[1], 'key'), { what: 'the other one to refuse too' });
});

t.test('a link that is away: each counts alone, and nothing fails', async (t) => {
  let asked = 0;
  const away = {
    tally: () => {
      asked += 1;
      return Promise.reject(new EngineUnavailableError());
    },
  };
  const limiter = new RateLimiter({ requests: 5, seconds: 60 });
  const sharing = new RateSharing(away, { credentials: limiter });
  t.teardown(() => sharing.close());
  consume(limiter, 'key', 5);
  await until(() => asked > 0, { what: 'an attempt to share' });
  t.ok(refuses(limiter, 'key'));
});

t.test('what is not limited is not shared', async (t) => {
  const limiter = new RateLimiter(null);
  const sharing = new RateSharing(new MemoryEngine(), { credentials: limiter });
  t.teardown(() => sharing.close());
  consume(limiter, 'key', 10);
  t.equal(limiter.takeUnshared().size, 0);
});

function consume(limiter: RateLimiter, key: string, times: number): void {
  for (let n = 0; n < times; n++) limiter.consume(key);
}

function refuses(limiter: RateLimiter, key: string): boolean {
  try {
    limiter.consume(key);
    return false;
  } catch {
    return true;
  }
}
