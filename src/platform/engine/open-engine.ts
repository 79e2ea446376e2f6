import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Engine, FrameCodec, Notices, NoticesOf } from './engine.ts';
import { MemoryEngine } from './memory-engine.ts';
import type { RedisAddress } from './redis/redis-address.ts';
import type { SeveralRedis } from './shards/several-redis.ts';

export interface EngineOptions<Frame> {
  readonly codec: FrameCodec<Frame>;
  /** Empty if this process is alone. */
  readonly addresses: readonly RedisAddress[];
  /** Names of the addresses in use. */
  readonly used: readonly string[];
  readonly log: Logger;
  readonly metrics: Metrics;
  /**
   * Notices of a named Redis, or of the only one. Without them, a frame not taken is refused.
   */
  readonly notices?: ((name?: string) => Notices) | undefined;
  /** The same for a Redis Cluster. */
  readonly partitionNotices?: NoticesOf | undefined;
}

/** The engine with a description for the log line of the start. */
export interface OpenedEngine<Frame> {
  readonly engine: Engine<Frame>;
  readonly description: string;
  /** Absent unless there are several Redis. */
  readonly several?: SeveralRedis<Frame>;
}

export async function openEngine<Frame>(options: EngineOptions<Frame>): Promise<OpenedEngine<Frame>> {
  const { codec, addresses, log, metrics, notices, partitionNotices } = options;
  const [address, another] = addresses;
  if (address === undefined) return { engine: new MemoryEngine(), description: 'memory' };
  if (address.cluster !== undefined) {
    const { RedisCluster } = await import('./shards/redis-cluster.ts');
    const engine = await RedisCluster.connect({ codec, address, log, metrics, notices: partitionNotices });
    const [first] = engine.shards;
    const name = `Redis Cluster of ${engine.shards.length} masters`;
    return { engine, description: described(name, first?.serverVersion ?? null) };
  }
  // Loaded here, because a node without Redis does not need the library.
  if (another === undefined) {
    const { RedisEngine } = await import('./redis/redis-engine.ts');
    const engine = await RedisEngine.connect({
      codec,
      url: address.url,
      log,
      metrics,
      notices: notices?.(),
    });
    return { engine, description: described(address.name, engine.serverVersion) };
  }
  const { SeveralRedis } = await import('./shards/several-redis.ts');
  const several = await SeveralRedis.connect(options);
  const shards = several.shards.map(({ serverVersion }, n) => described(options.used[n]!, serverVersion));
  return { engine: several, several, description: shards.join('; ') };
}

function described(name: string, version: string | null): string {
  return version === null ? name : `${name}, Redis ${version}`;
}
