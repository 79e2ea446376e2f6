import type { Engine } from '../engine/engine.ts';
import { Loop } from '../lifecycle.ts';
import type { RateLimiter } from './rate-limit.ts';

/** How far apart the nodes' counts may be: what a caller can get over its limit is what it sends in this time. */
const SHARE_EVERY_MS = 200;

/**
 * Makes the limits of several nodes one: each counts by itself and at once, and what they counted meets in
 * the engine behind that, so that no request waits for it. While the link is away each node counts alone.
 */
export class RateSharing {
  readonly #loop: Loop;

  /** `limiters` by a name that is the same on every node. */
  constructor(engine: Pick<Engine, 'tally'>, limiters: Readonly<Record<string, RateLimiter>>) {
    const named = Object.entries(limiters).filter(([, { limit }]) => limit > 0);
    for (const [, limiter] of named) limiter.takeUnshared();
    this.#loop = new Loop({
      intervalMs: SHARE_EVERY_MS,
      run: async () => {
        await Promise.all(named.map(([name, limiter]) => share(engine, name, limiter)));
      },
      // The link says so itself; what was counted meanwhile stays counted here.
      onError: () => {},
    });
  }

  close(): Promise<void> {
    return this.#loop.close();
  }
}

async function share(engine: Pick<Engine, 'tally'>, name: string, limiter: RateLimiter): Promise<void> {
  const counted = [...limiter.takeUnshared()];
  if (counted.length === 0) return;
  const { windowMs } = limiter;
  const tallies = await engine.tally(counted.map(([key, by]) => ({ key: `${name}:${key}`, by, windowMs })));
  for (const [index, { total, leftMs }] of tallies.entries()) {
    limiter.learn(counted[index]![0], total, leftMs);
  }
}
