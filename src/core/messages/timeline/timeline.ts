import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Engine } from '../../frames/engine.ts';
import type { CoreMetrics } from '../../metrics.ts';
import { type MessageRow, messageColumns } from '../../resources/message.ts';
import {
  headOf,
  insertVoids,
  purgedThrough,
  type SequenceNumber,
  type SequenceRange,
  settledAfter,
  type TimelineHead,
} from './timeline-store.ts';

/** A hole's owner has time to commit: a look after `lookAgainMs`, a void after `giveUpMs`. */
export const SETTLING = { lookAgainMs: 250, giveUpMs: 1_000 } as const;

/**
 * Reads timelines only up to the first unsettled number: every number in a result is a message or a
 * void, and does not change any more. Live ordering, replay and pages all read through this class,
 * so they end with the same messages.
 */
export class Timeline {
  readonly #database: Database;
  readonly #engine: Engine;
  readonly #metrics: CoreMetrics;

  constructor(database: Database, engine: Engine, metrics: CoreMetrics) {
    this.#database = database;
    this.#engine = engine;
    this.#metrics = metrics;
  }

  /**
   * Returns for each conversation, in their order, the highest number that was ever used, the
   * number up to which nothing can change any more, and the open texts. Does not wait for holes.
   */
  async standings(conversationIds: readonly string[]): Promise<TimelineHead[]> {
    const rows = await this.#database.query(READ_STANDINGS, [...new Set(conversationIds)]);
    const byId = new Map(rows.map(({ id, ...standing }) => [id, standing]));
    return conversationIds.map((id) => byId.get(id) ?? { head: 0, settled: 0, visible: 0, writing: [] });
  }

  /**
   * Returns the numbers of the last messages up to each `upTo`, of all messages or those for
   * customers, in the order of the arguments. Each is at least the last purged number, or 0.
   */
  async visibleHeads(
    asks: readonly { readonly conversationId: string; readonly upTo: number }[],
    forCustomer: boolean,
  ): Promise<number[]> {
    const rows = await this.#database.query(
      READ_VISIBLE_HEADS,
      asks.map(({ conversationId }) => conversationId),
      asks.map(({ upTo }) => upTo),
      forCustomer,
    );
    const heads = asks.map(() => 0);
    for (const { place, head } of rows) heads[place - 1] = head;
    return heads;
  }

  /**
   * Returns the messages of a range that ends at or below the head, in order, without voids. Waits
   * for holes and fills them about a second after `seenAtMs` at the latest (`performance.now()`
   * when the caller first saw the hole), unless an owner's transaction is still open.
   */
  async read(stretch: SequenceRange, seenAtMs = performance.now()): Promise<MessageRow[]> {
    const { conversationId, after, upTo } = stretch;
    let rows = await this.#database.query(READ_STRETCH, conversationId, after, upTo);
    if (rows.length < upTo - after) {
      await this.settle(stretch, seenAtMs);
      // Numbers may have become rows since the first read, whether it waited or not.
      rows = await this.#database.query(READ_STRETCH, conversationId, after, upTo);
    }
    return rows.filter((row) => row.status !== 'void');
  }

  /**
   * Waits until every number of a range is a row or a void, for callers that read it in another
   * order. Returns true if it had to wait.
   */
  async settle(
    { conversationId, after, upTo }: SequenceRange,
    seenAtMs = performance.now(),
  ): Promise<boolean> {
    for (let waited = false; ; waited = true) {
      const rows = await this.#database.query(READ_HOLES, conversationId, after, upTo);
      if (rows.length === 0) {
        if (waited) this.#metrics.settles.inc();
        return waited;
      }
      const holes = rows.map(({ sequence }) => sequence);
      await this.#waitOrVoid(conversationId, holes, seenAtMs);
    }
  }

  /** Returns whether more than `most` messages of a range were imported. */
  async hasImported({ conversationId, after, upTo }: SequenceRange, most: number): Promise<boolean> {
    const [row] = await this.#database.query(COUNT_IMPORTED, conversationId, after, upTo, most + 1);
    return row!.imported > most;
  }

  /** Writes a void at each of these numbers without a row. */
  async void(numbers: readonly SequenceNumber[]): Promise<void> {
    // This uses the pool, because it waits for an owner whose insert of the same number is in
    // progress.
    const voided = await insertVoids(this.#database, numbers);
    this.#metrics.voids.inc(voided.length);
    for (const { conversation_id: stream, sequence } of voided) {
      // The frame is a hint: a node that misses it finds the void in Postgres.
      this.#engine.publish(stream, { kind: 'void', stream, sequence }).catch(() => {});
    }
  }

  async #waitOrVoid(conversationId: string, holes: readonly number[], seenAtMs: number): Promise<void> {
    const leftMs = seenAtMs + SETTLING.giveUpMs - performance.now();
    if (leftMs > 0) {
      await pause(Math.min(leftMs, SETTLING.lookAgainMs));
      return;
    }
    // The first void is written at once; if that did not help, the next attempts are spaced.
    if (leftMs < -SETTLING.lookAgainMs) await pause(SETTLING.lookAgainMs);
    await this.void(holes.map((sequence) => ({ conversationId, sequence })));
    // A void that cannot be written (its conversation was deleted) must not cause a busy loop.
    if (leftMs < -HOPELESS_MS) throw new Error(`numbers of ${conversationId} cannot be settled: ${holes}`);
  }
}

/**
 * How long a hole may resist after its time, in milliseconds: longer than the owner's statement,
 * which is cancelled by then.
 */
const HOPELESS_MS = 15_000;

const READ_STANDINGS = statement<[conversationIds: readonly string[]], TimelineHead & { id: string }>(
  'read-standings',
)`
    SELECT c.id, newest.head, counted.settled, greatest(${purgedThrough('c.id')}, (
        SELECT v.sequence FROM messages v
        WHERE v.conversation_id = c.id AND v.sequence <= counted.settled AND v.status = 'sent'
        ORDER BY v.sequence DESC LIMIT 1
      )) AS visible, ARRAY(
      SELECT w.id FROM messages w WHERE w.conversation_id = c.id AND w.streaming_state = 'streaming'
        AND coalesce(w.sequence, 0) <= counted.settled
    ) AS writing
    FROM unnest($1::text[]) AS c(id), LATERAL ${headOf('c.id')} newest, LATERAL ${settledAfter('c.id', 'newest.floor')} counted`;

/** `place` is the position in the arguments, from 1. */
const READ_VISIBLE_HEADS = statement<
  [conversationIds: readonly string[], upTo: readonly number[], forCustomer: boolean],
  { place: number; head: number }
>('read-visible-heads')`
    SELECT c.place, greatest(${purgedThrough('c.id')}, (
        SELECT sequence FROM messages
        WHERE conversation_id = c.id AND sequence <= c.up_to AND status = 'sent'
          AND (NOT $3::boolean OR visibility <> 'internal')
        ORDER BY sequence DESC LIMIT 1
      )) AS head
    FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS c(id, up_to, place)`;

/** The numbers of a range that have no row and are not settled. */
const READ_HOLES = statement<[conversationId: string, after: number, upTo: number], { sequence: number }>(
  'read-holes',
)`
    SELECT n AS sequence
    FROM ${headOf('$1')} h, generate_series(greatest($2::bigint, h.floor) + 1, least($3::bigint, h.head)) AS n
    WHERE NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = $1 AND m.sequence = n)
    ORDER BY n`;

const COUNT_IMPORTED = statement<
  [conversationId: string, after: number, upTo: number, limit: number],
  { imported: number }
>('count-imported')`
    SELECT count(*) AS imported FROM (
      SELECT FROM messages
      WHERE conversation_id = $1 AND sequence > $2 AND sequence <= $3 AND imported IS NOT NULL LIMIT $4
    ) AS found`;

/** The rows of a range in order, voids included. */
const READ_STRETCH = statement<[conversationId: string, after: number, upTo: number], MessageRow>(
  'read-stretch',
)`
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.conversation_id = $1 AND m.sequence > $2 AND m.sequence <= $3
    ORDER BY m.sequence`;
