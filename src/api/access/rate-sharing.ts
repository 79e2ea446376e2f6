import { setImmediate as nextTick } from 'node:timers/promises';
import type { Addition, Engine, EngineShard, Tally } from '../../platform/engine/engine.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Exchange, RateLimiter } from './rate-limit.ts';

/** Milliseconds between exchanges for which no request waits. */
const SHARE_EVERY_MS = 200;
/** Milliseconds for which an exchange waits for a shard. Under load it takes some tens. */
const PATIENCE_MS = 200;

/**
 * Joins the limits of several nodes. A node decides most requests alone, and the engine counts them
 * a moment later. A request that cannot wait triggers an exchange at once; requests that arrive
 * meanwhile share the next one. While a shard of the engine is away or late, each node counts its
 * part alone.
 */
export class RateSharing {
  readonly #engine: SharedCounts;
  readonly #named: readonly [name: string, limiter: RateLimiter][];
  readonly #loop: Loop;
  #lastFullMs = performance.now();
  /** Shards that have not answered yet: further questions to them would be late, too. */
  readonly #late = new Set<EngineShard>();

  /** `limiters` has names that are the same on every node. */
  constructor(engine: SharedCounts, limiters: Readonly<Record<string, RateLimiter>>) {
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

  /** Asks the shards side by side. Slow shards cost the others PATIENCE_MS once. */
  async #exchange(take: (limiter: RateLimiter) => readonly Exchange[]): Promise<void> {
    const all = this.#named.flatMap(([name, limiter]) =>
      take(limiter).map((exchange) => ({
        limiter,
        exchange,
        addition: { ...exchange.addition, key: `${name}:${exchange.addition.key}` },
      })),
    );
    const byShard = Map.groupBy(all, ({ addition }) => this.#engine.shardOf(addition.key));
    await Promise.all(
      [...byShard].map(async ([shard, taken]) => {
        const tallies = await this.#ask(
          shard,
          taken.map(({ addition }) => addition),
        );
        for (const [index, { limiter, exchange }] of taken.entries()) {
          limiter.learn(exchange, tallies?.[index]);
        }
      }),
    );
  }

  /** Returns undefined if the shard does not answer in time; the link reports why itself. */
  async #ask(shard: EngineShard, additions: readonly Addition[]): Promise<readonly Tally[] | undefined> {
    if (!shard.healthy || this.#late.has(shard)) return undefined;
    this.#late.add(shard);
    const patience = Promise.withResolvers<undefined>();
    const timer = setTimeout(patience.resolve, PATIENCE_MS, undefined);
    const asking = this.#engine
      .tally(additions)
      .catch(() => undefined)
      .finally(() => {
        clearTimeout(timer);
        this.#late.delete(shard);
      });
    return Promise.race([asking, patience.promise]);
  }
}

type SharedCounts = Pick<Engine<unknown>, 'tally' | 'shardOf'>;
