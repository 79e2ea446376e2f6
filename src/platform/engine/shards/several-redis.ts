import { createHash } from 'node:crypto';
import { nanoid } from 'nanoid';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { FrameCodec, Notices } from '../engine.ts';
import { NODE_ID_BYTES } from '../losses/envelope.ts';
import { PARTITIONS } from '../partitions.ts';
import type { RedisAddress } from '../redis/redis-address.ts';
import { RedisEngine } from '../redis/redis-engine.ts';
import { PartitionedEngine } from './partitioned-engine.ts';

export interface SeveralRedisOptions<Frame> {
  readonly codec: FrameCodec<Frame>;
  /** All addresses that this node knows. */
  readonly addresses: readonly RedisAddress[];
  /** Names of the addresses in use. */
  readonly used: readonly string[];
  readonly log: Logger;
  /** Notices of the Redis with this name. */
  readonly notices?: ((name?: string) => Notices) | undefined;
  readonly metrics?: Pick<Metrics, 'redisRoundTrip'>;
}

/** The engine over several Redis, over which a fixed rule spreads the partitions. */
export class SeveralRedis<Frame> extends PartitionedEngine<Frame> {
  readonly #known: ReadonlyMap<string, RedisEngine<Frame>>;

  /** Rejects as RedisEngine.connect does if one cannot be used. */
  static async connect<Frame>({
    codec,
    addresses,
    used,
    log,
    notices,
    metrics,
  }: SeveralRedisOptions<Frame>): Promise<SeveralRedis<Frame>> {
    const nodeId = nanoid(NODE_ID_BYTES);
    const connecting = addresses.map(({ name, url }) =>
      RedisEngine.connect({
        codec,
        url,
        nodeId,
        log: log.child({ redis: name }),
        notices: notices?.(name),
        ...(metrics && { metrics }),
      }),
    );
    const settled = await Promise.allSettled(connecting);
    const known = new Map<string, RedisEngine<Frame>>();
    for (const [index, result] of settled.entries()) {
      if (result.status === 'fulfilled') known.set(addresses[index]!.name, result.value);
    }
    if (known.size < addresses.length) await Promise.all([...known.values()].map((one) => one.close()));
    // Rejects with the reason.
    await Promise.all(connecting);
    return new SeveralRedis(nodeId, known, used);
  }

  private constructor(
    nodeId: string,
    known: ReadonlyMap<string, RedisEngine<Frame>>,
    used: readonly string[],
  ) {
    super(nodeId, placed(known, used), named(known, used));
    this.#known = known;
    for (const engine of known.values()) this.follow(engine);
  }

  override async close(): Promise<void> {
    await Promise.all([...this.#known.values()].map((engine) => engine.close()));
    await super.close();
  }

  /** Uses the Redis with these names from now on, as `move` says. */
  use(names: readonly string[], sinceMs: number): Promise<void> {
    return this.move(placed(this.#known, names), sinceMs, named(this.#known, names));
  }
}

function placed<Engine>(known: ReadonlyMap<string, Engine>, names: readonly string[]): Engine[] {
  return named(known, spread(names));
}

function named<Engine>(known: ReadonlyMap<string, Engine>, names: readonly string[]): Engine[] {
  return names.map((name) => known.get(name)!);
}

/**
 * Returns the name for each partition: the name with the highest hash of both. So the order of the
 * names does not matter, and a new name takes its share from each other name.
 */
export function spread(names: readonly string[]): readonly string[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => {
    const hashed = names.map((name) => {
      return { name, hash: createHash('sha256').update(`${partition} ${name}`).digest('hex') };
    });
    return hashed.reduce((one, other) => (other.hash > one.hash ? other : one)).name;
  });
}
