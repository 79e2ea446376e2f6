import { setImmediate as nextTick } from 'node:timers/promises';
import type { Engine, Tally } from '../engine/engine.ts';
import { Loop } from '../lifecycle.ts';
import type { Exchange, RateLimiter } from './rate-limit.ts';

/** Milliseconds between exchanges for which no request waits. */
const SHARE_EVERY_MS = 200;

/**
 * Joins the limits of several nodes. A node decides most requests alone, and the engine counts them
 * a moment later. A request that cannot wait triggers an exchange at once; those that arrive
 * meanwhile share the next one. While the link is away, each node counts alone.
 */
export class RateSharing {
  readonly #engine: Pick<Engine, 'tally'>;
  readonly #named: readonly [name: string, limiter: RateLimiter][];
  readonly #loop: Loop;
  #lastFullMs = performance.now();

  /** `limiters` has names that are the same on every node. */
  constructor(engine: Pick<Engine, 'tally'>, limiters: Readonly<Record<string, RateLimiter>>) {
    this.#engine = engine;
    this.#named = Object.entries(limiters).filter(([, { limit }]) => limit > 0);
    this.#loop = new Loop({
      intervalMs: SHARE_EVERY_MS,
      run: () => this.#round(),
      rests: () => this.#named.every(([, limiter]) => limiter.isQuiet),
      // A round does not fail: the link reports its state itself.
      onError: () => {},
    });
    for (const [, limiter] of this.#named) {
      limiter.share({ ask: () => this.#loop.wake(), changed: () => this.#loop.stir() });
    }
  }

  /** Gives back what this node holds; it counts alone from then on. */
  async close(): Promise<void> {
    await this.#loop.close();
    await this.#exchange((limiter) => limiter.unshare());
  }

  async #round(): Promise<void> {
    // The other requests of this tick join the same exchange.
    await nextTick();
    const nowMs = performance.now();
    const isAsked = this.#named.some(([, limiter]) => limiter.isAsking);
    const isFull = !isAsked || nowMs - this.#lastFullMs >= SHARE_EVERY_MS;
    if (isFull) this.#lastFullMs = nowMs;
    await this.#exchange((limiter) => limiter.takeExchanges(isFull ? 'all' : 'asking'));
  }

  async #exchange(take: (limiter: RateLimiter) => readonly Exchange[]): Promise<void> {
    const taken = this.#named.flatMap(([name, limiter]) =>
      take(limiter).map((exchange) => ({ name, limiter, exchange })),
    );
    if (taken.length === 0) return;
    let tallies: readonly (Tally | undefined)[] = [];
    try {
      tallies = await this.#engine.tally(
        taken.map(({ name, exchange: { addition } }) => ({ ...addition, key: `${name}:${addition.key}` })),
      );
    } catch {
      // The link reports the failure itself; each request is decided by the knowledge of this node.
    }
    for (const [index, { limiter, exchange }] of taken.entries()) limiter.learn(exchange, tallies[index]);
  }
}
