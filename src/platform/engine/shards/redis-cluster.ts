import { setTimeout as delay } from 'node:timers/promises';
import { nanoid } from 'nanoid';
import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { FrameCodec, NoticesOf } from '../engine.ts';
import { NODE_ID_BYTES } from '../losses/envelope.ts';
import { type RedisAddress, serverOf } from '../redis/redis-address.ts';
import { describe, isRefusal, readClusterNodes } from '../redis/redis-connection.ts';
import { RedisEngine } from '../redis/redis-engine.ts';
import { Warnings } from '../redis/warnings.ts';
import { type ClusterAnswer, type ClusterView, readClusterView } from './cluster-slots.ts';
import { PartitionedEngine } from './partitioned-engine.ts';

export interface RedisClusterOptions<Frame> {
  readonly codec: FrameCodec<Frame>;
  readonly address: RedisAddress;
  readonly log: Logger;
  readonly notices?: NoticesOf | undefined;
  readonly metrics?: Pick<Metrics, 'redisRoundTrip'>;
  /** Milliseconds of retries while the cluster cannot be used. Default 10,000. */
  readonly patienceMs?: number;
}

/**
 * The engine over a Redis Cluster, which says itself which master has which partition. A master is
 * a Redis with a link of its own; partitions move when the cluster moves their slots
 * (DECISIONS.md#redis-cluster).
 */
export class RedisCluster<Frame> extends PartitionedEngine<Frame> {
  readonly #options: RedisClusterOptions<Frame>;
  readonly #masters: Map<string, RedisEngine<Frame>>;
  readonly #looking: Loop;
  #servers: readonly string[];
  #readMs = performance.now();
  /** Whether a server refused a request that another server may take by now. */
  #isStray = false;
  /** Masters without partitions, until they are closed. */
  readonly #closing = new Set<Promise<void>>();
  /** Moments until which nodes are told that partitions moved. */
  readonly #movedUntilMs = new Map<number, number>();
  readonly #warnings: Warnings;

  /** Rejects with one line that says what keeps the cluster from being used. */
  static async connect<Frame>(options: RedisClusterOptions<Frame>): Promise<RedisCluster<Frame>> {
    const { address, log } = options;
    const nodeId = nanoid(NODE_ID_BYTES);
    const deadlineMs = performance.now() + (options.patienceMs ?? PATIENCE_MS);
    for (;;) {
      const holder: Holder<Frame> = { cluster: undefined };
      const masters = new Map<string, RedisEngine<Frame>>();
      try {
        const view = await askServers(address, address.cluster!);
        const places = placesOf(view.masters);
        if (view.masters.includes(undefined)) throw new Error('some slots have no master');
        const connecting = [...places].map(async ([at, partitions]) => {
          masters.set(at, await connectMaster(options, nodeId, holder, at, partitions));
        });
        await Promise.allSettled(connecting);
        // Rejects with the reason.
        await Promise.all(connecting);
        holder.cluster = new RedisCluster(options, nodeId, masters, view);
        return holder.cluster;
      } catch (error) {
        await Promise.all([...masters.values()].map((master) => master.close()));
        if (performance.now() < deadlineMs && !isRefusal(error)) {
          log.warn({ err: error }, 'the Redis Cluster cannot be used yet: trying again');
          await delay(RETRY_MS);
          continue;
        }
        throw new Error(
          `cannot use the Redis Cluster at ${address.shown}: ${describe(error)}; ` +
            'have it cover all slots at addresses that this node reaches, or correct REDIS_URL',
          { cause: error },
        );
      }
    }
  }

  private constructor(
    options: RedisClusterOptions<Frame>,
    nodeId: string,
    masters: Map<string, RedisEngine<Frame>>,
    view: ClusterView,
  ) {
    super(
      nodeId,
      view.masters.map((at) => masters.get(at!)!),
    );
    this.#options = options;
    this.#warnings = new Warnings(options.log);
    this.#masters = masters;
    this.#servers = view.servers;
    for (const master of masters.values()) this.follow(master);
    this.#looking = new Loop({
      intervalMs: LOOK_EVERY_MS,
      run: () => this.#round(),
      onError: (error) => this.#warnings.add(error, 'following the Redis Cluster failed'),
    });
  }

  /** Returns the partitions of the master at this address. */
  partitionsAt(at: string): readonly number[] {
    const master = this.#masters.get(at);
    return [...this.byPartition.keys()].filter((partition) => this.byPartition[partition] === master);
  }

  /** Notes that another master may have the requested slot. */
  stray(): void {
    this.#isStray = true;
    if (performance.now() - this.#readMs > APART_MS) this.#looking.wake();
  }

  override async close(): Promise<void> {
    await this.#looking.close();
    await Promise.all([...this.#closing, ...[...this.#masters.values()].map((master) => master.close())]);
    await super.close();
  }

  /** Asks the servers while anything is in doubt, such as a move that another node saw. */
  async #round(): Promise<void> {
    const nowMs = performance.now();
    this.#sayMoved(nowMs);
    const isCalm = !this.#isStray && this.healthy && !this.inDoubt;
    if (isCalm) this.#warnings.clear();
    if (isCalm && nowMs - this.#readMs < CALM_LOOK_EVERY_MS) return;
    this.#isStray = false;
    const view = await this.#ask();
    this.#readMs = performance.now();
    if (view.servers.length > 0) this.#servers = view.servers;
    await this.#use(view.masters);
  }

  /** Asks the masters. Those that answer know what became of the rest. */
  async #ask(): Promise<ClusterView> {
    const asked = [...this.#masters].filter(([, { healthy }]) => healthy);
    const view = await readViews(
      asked.map(async ([from, master]) => ({ from, text: await master.clusterNodes() })),
    );
    if (view.servers.length > 0) return view;
    const { address } = this.#options;
    return askServers(address, new Set([...this.#servers, ...address.cluster!]));
  }

  async #use(at: ClusterView['masters']): Promise<void> {
    const before = this.byPartition;
    const places = placesOf(at);
    await Promise.all(
      [...places].map(async ([at, partitions]) => {
        if (!this.#masters.has(at)) await this.#add(at, partitions);
      }),
    );
    // A partition stays where it was until its new master can be reached.
    const next = before.map((master, partition) => this.#masters.get(at[partition] ?? '') ?? master);
    const moved = [...next.keys()].filter((partition) => next[partition] !== before[partition]);
    if (moved.length === 0) return;
    const sinceMs = Math.min(...moved.map((partition) => before[partition]!.wholeMs));
    const untilMs = performance.now() + MOVED_FOR_MS;
    for (const partition of moved) this.#movedUntilMs.set(partition, untilMs);
    // Says so before anything is published there: other nodes may still listen at the former
    // master. If it cannot be said, Postgres is away, and no right is read.
    const saying = this.#options.notices?.(() => moved).say();
    await Promise.race([saying?.catch(() => {}), delay(SAID_WITHIN_MS, undefined, { ref: false })]);
    for (const master of new Set(next)) {
      master.place([...next.keys()].filter((partition) => next[partition] === master));
    }
    await this.move(next, sinceMs);
    this.#options.log.info(
      { partitions: moved.length },
      'partitions moved to other masters of the Redis Cluster',
    );
    for (const [at, master] of this.#masters) {
      if (next.includes(master)) continue;
      this.#masters.delete(at);
      // A master that hangs takes a second.
      const closing = master.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
  }

  async #add(at: string, partitions: readonly number[]): Promise<void> {
    try {
      const holder: Holder<Frame> = { cluster: this };
      const master = await connectMaster(this.#options, this.nodeId, holder, at, partitions);
      this.#masters.set(at, master);
      this.follow(master);
    } catch (error) {
      const what = 'a master of the Redis Cluster cannot be used yet';
      if (isRefusal(error)) this.#warnings.add(error, what);
      else this.#options.log.debug({ err: error, at }, what);
    }
  }

  #sayMoved(nowMs: number): void {
    for (const [partition, untilMs] of this.#movedUntilMs) {
      if (untilMs < nowMs) this.#movedUntilMs.delete(partition);
    }
    if (this.#movedUntilMs.size === 0) return;
    const partitions = [...this.#movedUntilMs.keys()];
    this.#options
      .notices?.(() => partitions)
      .say()
      .catch(() => {});
  }
}

/** The cluster to which a master belongs; absent until all are connected. */
interface Holder<Frame> {
  cluster: RedisCluster<Frame> | undefined;
}

function connectMaster<Frame>(
  { codec, address, log, notices, metrics }: RedisClusterOptions<Frame>,
  nodeId: string,
  holder: Holder<Frame>,
  at: string,
  partitions: readonly number[],
): Promise<RedisEngine<Frame>> {
  return RedisEngine.connect({
    codec,
    url: serverOf(address, at).url,
    nodeId,
    log: log.child({ redis: at }),
    patienceMs: 0,
    ...(notices && { notices: notices(() => holder.cluster?.partitionsAt(at) ?? partitions) }),
    ...(metrics && { metrics }),
    inCluster: { partitions, onStray: () => holder.cluster?.stray() },
  });
}

/** Returns the partitions of each master. */
function placesOf(masters: ClusterView['masters']): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [partition, at] of masters.entries()) {
    if (at === undefined) continue;
    const partitions = places.get(at);
    if (partitions === undefined) places.set(at, [partition]);
    else partitions.push(partition);
  }
  return places;
}

/** Asks servers over separate connections. Rejects if no server answers. */
async function askServers(address: RedisAddress, servers: Iterable<string>): Promise<ClusterView> {
  const asked = [...servers].map(async (from) => ({
    from,
    text: await readClusterNodes(serverOf(address, from)),
  }));
  const view = await readViews(asked);
  if (view.servers.length > 0) return view;
  await Promise.any(asked).catch((error) => {
    throw new Error(describe(error));
  });
  throw new Error('no server of it knows any');
}

/** Reads the answers of about the same time, without waiting for a server that hangs. */
async function readViews(asked: readonly Promise<ClusterAnswer>[]): Promise<ClusterView> {
  const answers: ClusterAnswer[] = [];
  const collected = Promise.allSettled(asked.map(async (one) => answers.push(await one)));
  const first = Promise.any(asked).then(() => delay(APART_MS));
  await Promise.race([collected, first.catch(() => collected)]);
  return readClusterView(answers);
}

const LOOK_EVERY_MS = 250;
const CALM_LOOK_EVERY_MS = 30_000;
/** Milliseconds within which answers that belong together arrive. */
const APART_MS = 100;
/** Milliseconds within which other nodes follow, most of them at once. */
const MOVED_FOR_MS = 10_000;
const SAID_WITHIN_MS = 1_000;
const PATIENCE_MS = 10_000;
const RETRY_MS = 250;
