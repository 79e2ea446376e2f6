import type { Frame } from '../core/frames/frame.ts';
import { FRAME_CODEC } from '../core/frames/frame-codec.ts';
import type { Database } from '../platform/db/connection/database.ts';
import { CutOffNotices } from '../platform/db/notices/cut-off-notices.ts';
import { partitionNotices } from '../platform/db/notices/partition-notices.ts';
import { RedisList } from '../platform/db/notices/redis-list.ts';
import type { DueWatch } from '../platform/db/queue/due-watch.ts';
import type { Notices } from '../platform/engine/engine.ts';
import { type OpenedEngine, openEngine } from '../platform/engine/open-engine.ts';
import { PARTITIONS } from '../platform/engine/partitions.ts';
import { readRedisUrl } from '../platform/engine/redis/redis-address.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Config } from './config.ts';

export interface OpenEngineOptions {
  readonly config: Pick<Config, 'redisUrl'>;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * Opens the engine of a node, over the Redis that all nodes of the database use. The node tells the
 * others when it is cut off, and changes over with them when the list changes.
 */
export async function openEngineOf(
  { config, log, metrics }: OpenEngineOptions,
  database: Database,
  watch: Pick<DueWatch, 'add'>,
): Promise<OpenedEngine<Frame>> {
  const addresses = config.redisUrl === null ? [] : (readRedisUrl(config.redisUrl) ?? []);
  const known = addresses.map(({ name }) => name);
  if (known.length === 0) return openEngine({ codec: FRAME_CODEC, addresses, used: [], log, metrics });
  // A cluster says itself which servers it has.
  if (addresses[0]?.cluster !== undefined) {
    return openEngine({
      codec: FRAME_CODEC,
      addresses,
      used: [],
      log,
      metrics,
      partitionNotices: partitionNotices({ database, watch, count: PARTITIONS }),
    });
  }
  const list = await RedisList.open({ database, known, log });
  const all: Notices[] = [];
  const notices = (name?: string) => {
    const isAll = () => list.names.length === 1;
    const shard = name === undefined ? undefined : { name, index: known.indexOf(name), isAll };
    const one = new CutOffNotices({ database, watch, ...(shard && { shard }) });
    all.push(one);
    return one;
  };
  const options = { codec: FRAME_CODEC, addresses, used: list.names, log, metrics };
  const opened = await openEngine({ ...options, notices });
  const { several } = opened;
  let wholeMs = Number.POSITIVE_INFINITY;
  list.follow(watch, {
    // Until all nodes have changed over, every node reads new rows from Postgres.
    onUnderWay: () => {
      wholeMs = Math.min(wholeMs, opened.engine.wholeMs);
      for (const one of all) one.say().catch(() => {});
    },
    use: async (names) => {
      await several?.use(names, wholeMs);
      wholeMs = Number.POSITIVE_INFINITY;
    },
    onLacking: (error) => {
      log.fatal({ err: error }, 'this node would not hear the others: it stops');
      process.kill(process.pid, 'SIGTERM');
    },
  });
  return opened;
}
