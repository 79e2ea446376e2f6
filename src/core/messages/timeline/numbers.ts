import { LRUCache } from 'lru-cache';
import { bounded } from '../../../platform/bounded.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import {
  type EngineShard,
  EngineUnavailableError,
  type NumberRequest,
} from '../../../platform/engine/engine.ts';
import type { Engine } from '../../frames/engine.ts';
import type { CoreMetrics } from '../../metrics.ts';
import type { Timeline } from './timeline.ts';
import { readHeads } from './timeline-store.ts';

export interface NumbersOptions {
  readonly engine: Pick<Engine, 'shardOf' | 'reserve'>;
  readonly timeline: Pick<Timeline, 'void'>;
  readonly metrics: Pick<CoreMetrics, 'numberCollisions' | 'numbersWithoutCounters'>;
}

/** The numbers of some claims: for each, in their order, the first of `count` consecutive ones. */
export interface Taken {
  readonly firsts: readonly number[];
  /** Whether a counter passed them: unused numbers are then holes. */
  readonly areCounted: boolean;
}

/**
 * Gives messages their numbers. Counters that all nodes share (engine/) give them without a lock.
 * While this node cannot reach the counters, it takes the number behind the last one in Postgres,
 * under the lock of the conversation. The unique key decides in both cases.
 *
 * Nodes with and without counters may write into one conversation at the same time. A node whose
 * number was taken therefore works under the lock for a second. There it raises the counter to the
 * last number in Postgres before it takes one: two nodes collide at most once a second.
 *
 * A node without counters can lose every time to a busy node, whose flushes under way have the
 * numbers right behind the last one in Postgres. From the third attempt on it leaves numbers out
 * and voids them, so that the busy node collides and works under the lock.
 */
export class Numbers {
  readonly #options: NumbersOptions;
  /** Conversations in which a number of this node was taken a moment ago. */
  readonly #contended = new LRUCache<string, true>({ ...bounded(MAX_KEPT), ttl: CONTENDED_FOR_MS });
  /**
   * Conversations whose last numbers are from Postgres, so that their counters may be behind. The
   * value is how many numbers of their counters may be lost by requests without an answer.
   */
  readonly #uncounted = new LRUCache<string, number>(bounded(MAX_KEPT));
  /** When a request of a shard of the engine failed last. */
  readonly #failedMs = new Map<EngineShard, number>();
  /** The call that is raising absent counters. */
  #raising: Promise<unknown> | undefined;

  constructor(options: NumbersOptions) {
    this.#options = options;
  }

  /** Returns whether the conversation's messages are numbered only under its lock for now. */
  needsLock(conversationId: string): boolean {
    return this.#isAway(conversationId) || this.#needsFloor(conversationId);
  }

  /** Notes that numbers of this conversation had been used by another node. */
  collided(conversationId: string): void {
    this.#contended.set(conversationId, true);
    this.#options.metrics.numberCollisions.inc();
  }

  /**
   * Takes numbers off the counters, without a lock. Rejects with EngineUnavailableError; then
   * `needsLock` is true for a second for all conversations of that shard of the engine.
   */
  async count(db: Querier, claims: readonly NumberRequest[]): Promise<Taken> {
    const firsts = await this.#reserve(claims);
    return {
      firsts: firsts.includes(null) ? await this.#takeAbsent(db, claims, firsts) : (firsts as number[]),
      areCounted: true,
    };
  }

  /** Takes numbers of conversations that `tx` has locked. `numbering` counts attempts, from 1. */
  async takeLocked(tx: Querier, claims: readonly NumberRequest[], numbering: number): Promise<Taken> {
    if (claims.some(({ stream }) => this.#isAway(stream))) {
      return this.#takeFromPostgres(tx, claims, numbering);
    }
    try {
      const behind = claims.some(({ stream }) => this.#needsFloor(stream));
      return behind ? await this.#countFrom(tx, claims) : await this.count(tx, claims);
    } catch (error) {
      if (error instanceof EngineUnavailableError) return this.#takeFromPostgres(tx, claims, numbering);
      throw error;
    }
  }

  #isAway(conversationId: string): boolean {
    const shard = this.#options.engine.shardOf(conversationId);
    const failedMs = this.#failedMs.get(shard);
    return !shard.healthy || (failedMs !== undefined && performance.now() - failedMs < AWAY_FOR_MS);
  }

  #needsFloor(conversationId: string): boolean {
    // No look at the clock while nothing was away or taken.
    if (this.#contended.size === 0 && this.#uncounted.size === 0) return false;
    return this.#contended.has(conversationId) || this.#uncounted.has(conversationId);
  }

  async #takeFromPostgres(tx: Querier, claims: readonly NumberRequest[], numbering: number): Promise<Taken> {
    const floored = await withFloors(tx, claims);
    // 4, 16, 64, 256: in the end more than another node has in flushes under way.
    const leftOut = numbering <= 2 ? 0 : 4 ** (numbering - 2);
    for (const { stream, floor } of floored) this.#void(stream, floor, floor + leftOut + 1);
    for (const { stream, count } of claims) {
      if (!this.#uncounted.has(stream)) this.#uncounted.set(stream, 0);
      this.#options.metrics.numbersWithoutCounters.inc(count);
    }
    return { firsts: floored.map(({ floor }) => floor + leftOut + 1), areCounted: false };
  }

  /** Raises the counters to Postgres' numbers, then takes theirs. */
  async #countFrom(tx: Querier, claims: readonly NumberRequest[]): Promise<Taken> {
    const floored = await withFloors(tx, claims);
    const firsts = (await this.#reserve(floored)) as number[];
    for (const [index, { stream, floor }] of floored.entries()) {
      const lost = this.#uncounted.get(stream) ?? 0;
      this.#uncounted.delete(stream);
      // These numbers were lost with an answer of the counters.
      if (lost > 0) this.#void(stream, floor, firsts[index]!);
    }
    return { firsts, areCounted: true };
  }

  /** Voids the numbers between the two, for which readers would wait a second. */
  #void(conversationId: string, head: number, first: number): void {
    const between = Array.from({ length: first - head - 1 }, (_, n) => ({
      conversationId,
      sequence: head + 1 + n,
    }));
    // If this fails, readers settle the numbers.
    if (between.length > 0) this.#options.timeline.void(between).catch(() => {});
  }

  async #reserve(claims: readonly NumberRequest[]): Promise<readonly (number | null)[]> {
    try {
      return await this.#options.engine.reserve(claims);
    } catch (error) {
      for (const { stream, count } of claims) {
        this.#failedMs.set(this.#options.engine.shardOf(stream), performance.now());
        this.#uncounted.set(stream, (this.#uncounted.get(stream) ?? 0) + count);
      }
      throw error;
    }
  }

  /**
   * Takes the numbers whose counters were absent. Calls that found the same counters absent wait
   * until the first call raises them, and then take theirs at once. If each read the heads by
   * itself, a later call that finds the counter would take its numbers before them.
   */
  async #takeAbsent(
    db: Querier,
    claims: readonly NumberRequest[],
    taken: readonly (number | null)[],
  ): Promise<readonly number[]> {
    let firsts = taken;
    const take = async (raise: boolean) => {
      const absent = claims.filter((_, index) => firsts[index] === null);
      const more = [...(await this.#reserve(raise ? await withFloors(db, absent) : absent))];
      firsts = firsts.map((first) => first ?? more.shift()!);
    };
    while (this.#raising !== undefined) {
      await this.#raising;
      await take(false);
      if (areTaken(firsts)) return firsts;
    }
    const raise = take(true);
    this.#raising = raise
      .catch(() => {})
      .finally(() => {
        this.#raising = undefined;
      });
    await raise;
    if (!areTaken(firsts)) throw new EngineUnavailableError('a counter kept vanishing');
    return firsts;
  }
}

/** Milliseconds for which this node avoids counters after a failed request. */
const AWAY_FOR_MS = 1_000;
const CONTENDED_FOR_MS = 1_000;
/** A forgotten conversation collides once more. */
const MAX_KEPT = 100_000;

function areTaken(firsts: readonly (number | null)[]): firsts is readonly number[] {
  return !firsts.includes(null);
}

/** Adds the last number of each conversation in Postgres. */
async function withFloors(db: Querier, claims: readonly NumberRequest[]): Promise<Required<NumberRequest>[]> {
  const streams = claims.map(({ stream }) => stream);
  const heads = await readHeads(db, streams);
  return claims.map((claim) => ({ ...claim, floor: heads.get(claim.stream)! }));
}
