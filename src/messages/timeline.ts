import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import { statement } from '../db/statement.ts';
import type { Engine } from '../engine/engine.ts';
import type { Metrics } from '../metrics.ts';
import { newId } from '../protocol/ids.ts';
import { type MessageRow, messageColumns } from '../resources/message.ts';

/**
 * Numbers further below a conversation's highest than this are settled by definition: the write path never fills them
 * (docs/architecture.md#the-write-path).
 */
export const SETTLE_WINDOW = 1_000;

/** How long a hole's owner gets to commit: a second look after `lookAgainMs`, a void after `giveUpMs`. */
export const SETTLING = { lookAgainMs: 250, giveUpMs: 1_000 } as const;

/** A range of one conversation's timeline: after `after`, up to and including `upTo`. */
export interface SequenceRange {
  readonly conversationId: string;
  readonly after: number;
  readonly upTo: number;
}

export interface SettledHead {
  readonly head: number;
  readonly settled: number;
}

/** The state of a conversation for a reader that starts to follow it. */
export interface TimelineHead extends SettledHead {
  /** Ids of the texts being written: drafts, and messages up to `settled`. */
  readonly writing: readonly string[];
}

/**
 * Reads timelines up to the first unsettled number and no further: every number in a result is a message or a void,
 * and stays what it is. Live ordering, replay and pages all read through this class, so they end with the same
 * messages.
 */
export class Timeline {
  readonly #database: Database;
  readonly #engine: Engine;
  readonly #metrics: Metrics;

  constructor(database: Database, engine: Engine, metrics: Metrics) {
    this.#database = database;
    this.#engine = engine;
    this.#metrics = metrics;
  }

  /** Returns the highest number in Postgres, 0 for an empty timeline. Numbers below it may still be unsettled. */
  async head(conversationId: string): Promise<number> {
    const [row] = await this.#database.query(READ_HEAD, conversationId);
    return row?.head ?? 0;
  }

  /**
   * Returns the head, and the number up to which nothing can change any more: below the lowest hole of the last
   * SETTLE_WINDOW. Does not wait for holes.
   */
  async settledHead(conversationId: string): Promise<SettledHead> {
    const [standing] = await this.standings([conversationId]);
    const { head, settled } = standing!;
    return { head, settled };
  }

  /** Like `settledHead` for several conversations, in their order, with the texts being written in them. */
  async standings(conversationIds: readonly string[]): Promise<TimelineHead[]> {
    const rows = await this.#database.query(READ_STANDINGS, [...new Set(conversationIds)]);
    const byId = new Map(rows.map(({ id, ...standing }) => [id, standing]));
    return conversationIds.map((id) => byId.get(id) ?? { head: 0, settled: 0, writing: [] });
  }

  /** Returns the highest numbers up to `upTo` that customers may see, in the order of the arguments; 0 for none. */
  async visibleHeads(
    asks: readonly { readonly conversationId: string; readonly upTo: number }[],
  ): Promise<number[]> {
    const rows = await this.#database.query(
      READ_VISIBLE_HEADS,
      asks.map(({ conversationId }) => conversationId),
      asks.map(({ upTo }) => upTo),
    );
    const heads = asks.map(() => 0);
    for (const { place, head } of rows) heads[place - 1] = head;
    return heads;
  }

  /**
   * Returns the messages of a range that ends at or below the head, in order, without voids. Waits for holes and fills
   * them: at the latest about a second after `seenAtMs` (`performance.now()`, when the caller first saw the hole),
   * unless an owner's transaction is still open.
   */
  async read(stretch: SequenceRange, seenAtMs = performance.now()): Promise<MessageRow[]> {
    for (let waited = false; ; waited = true) {
      const rows = await this.#database.query(
        READ_STRETCH,
        stretch.conversationId,
        stretch.after,
        stretch.upTo,
      );
      const holes = await this.#unsettled(stretch, rows);
      if (holes.length === 0) {
        if (waited) this.#metrics.settles.inc();
        return rows.filter((row) => row.status !== 'void');
      }
      await this.#waitOrVoid(stretch.conversationId, holes, seenAtMs);
    }
  }

  /**
   * Waits until every number of a range is a row or a void, for callers that read it in another order. Returns true if
   * it had to wait.
   */
  async settle({ conversationId, after, upTo }: SequenceRange): Promise<boolean> {
    const seenAtMs = performance.now();
    for (let waited = false; ; waited = true) {
      const rows = await this.#database.query(READ_HOLES, conversationId, after, upTo);
      if (rows.length === 0) {
        if (waited) this.#metrics.settles.inc();
        return waited;
      }
      await this.#waitOrVoid(
        conversationId,
        rows.map((row) => row.sequence),
        seenAtMs,
      );
    }
  }

  /** Writes a void for each of these numbers of a conversation that has no row. */
  async void(conversationId: string, sequences: readonly number[]): Promise<void> {
    const ids = sequences.map(() => newId('message'));
    const voided = await this.#database.query(
      INSERT_VOIDS,
      conversationId,
      ids,
      [...sequences].sort((a, b) => a - b),
    );
    this.#metrics.voids.inc(voided.length);
    for (const { sequence } of voided) {
      // The frame is a hint: a node that misses it finds the void in Postgres.
      this.#engine
        .publish(conversationId, { kind: 'void', stream: conversationId, sequence })
        .catch(() => {});
    }
  }

  /** Returns the numbers of the range that `rows` lacks and that could still become a message. */
  async #unsettled(
    { conversationId, after, upTo }: SequenceRange,
    rows: readonly MessageRow[],
  ): Promise<number[]> {
    if (rows.length >= upTo - after) return [];
    const head = await this.head(conversationId);
    const present = new Set(rows.map((row) => row.sequence));
    const holes: number[] = [];
    for (let n = Math.max(after, head - SETTLE_WINDOW) + 1; n <= upTo; n++) {
      if (!present.has(n)) holes.push(n);
    }
    return holes;
  }

  async #waitOrVoid(conversationId: string, holes: readonly number[], seenAtMs: number): Promise<void> {
    const leftMs = seenAtMs + SETTLING.giveUpMs - performance.now();
    if (leftMs > 0) {
      await pause(Math.min(leftMs, SETTLING.lookAgainMs));
      return;
    }
    // The first void is written at once; if that did not help, the next attempts are spaced.
    if (leftMs < -SETTLING.lookAgainMs) await pause(SETTLING.lookAgainMs);
    await this.void(conversationId, holes);
    // A void that cannot be written (its conversation was deleted) must not become a busy loop.
    if (leftMs < -HOPELESS_MS) throw new Error(`numbers of ${conversationId} cannot be settled: ${holes}`);
  }
}

/**
 * How long a hole may resist after its time, in milliseconds: longer than the owner's statement, which is cancelled by
 * then.
 */
const HOPELESS_MS = 15_000;

const READ_HEAD = statement<[conversationId: string], { head: number }>({
  name: 'read-head',
  text: 'SELECT coalesce(max(sequence), 0) AS head FROM messages WHERE conversation_id = $1',
});

// Numbers are consecutive as long as the number minus the row's position stays the same.
const READ_STANDINGS = statement<[conversationIds: readonly string[]], TimelineHead & { id: string }>({
  name: 'read-standings',
  text: `
    SELECT c.id, newest.head, counted.settled, ARRAY(
      SELECT w.id FROM messages w WHERE w.conversation_id = c.id AND w.streaming_state = 'streaming'
        AND coalesce(w.sequence, 0) <= counted.settled
    ) AS writing
    FROM unnest($1::text[]) AS c(id), LATERAL (
      SELECT coalesce(max(sequence), 0) AS head, greatest(max(sequence) - ${SETTLE_WINDOW}, 0) AS floor
      FROM messages WHERE conversation_id = c.id
    ) newest, LATERAL (
      SELECT coalesce(max(sequence) FILTER (WHERE sequence = expected), newest.floor) AS settled
      FROM (
        SELECT m.sequence, newest.floor + row_number() OVER (ORDER BY m.sequence) AS expected
        FROM messages m WHERE m.conversation_id = c.id AND m.sequence > newest.floor
      ) numbered
    ) counted`,
});

const READ_VISIBLE_HEADS = statement<
  [conversationIds: readonly string[], upTo: readonly number[]],
  { place: number; head: number }
>({
  name: 'read-visible-heads',
  text: `
    SELECT c.place, m.head
    FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS c(id, up_to, place), LATERAL (
      SELECT sequence AS head FROM messages
      WHERE conversation_id = c.id AND sequence <= c.up_to AND status = 'sent' AND visibility <> 'internal'
      ORDER BY sequence DESC LIMIT 1
    ) m`,
});

const READ_HOLES = statement<[conversationId: string, after: number, upTo: number], { sequence: number }>({
  name: 'read-holes',
  text: `
    SELECT n AS sequence
    FROM (SELECT coalesce(max(sequence), 0) AS head FROM messages WHERE conversation_id = $1) h,
      generate_series(greatest($2::bigint, h.head - ${SETTLE_WINDOW}) + 1, least($3::bigint, h.head)) AS n
    WHERE NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = $1 AND m.sequence = n)
    ORDER BY n`,
});

const READ_STRETCH = statement<[conversationId: string, after: number, upTo: number], MessageRow>({
  name: 'read-stretch',
  text: `
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.conversation_id = $1 AND m.sequence > $2 AND m.sequence <= $3
    ORDER BY m.sequence`,
});

// Waits for an owner whose insert of the same number is in progress; an owner that inserts later conflicts and takes
// another number.
const INSERT_VOIDS = statement<
  [conversationId: string, ids: readonly string[], sequences: readonly number[]],
  { sequence: number }
>({
  name: 'insert-voids',
  text: `
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility)
    SELECT v.id, c.account_id, $1, v.sequence, 'void', 'void', 'internal'
    FROM (SELECT account_id FROM conversations WHERE id = $1) c,
      unnest($2::text[], $3::bigint[]) AS v(id, sequence)
    ORDER BY v.sequence
    ON CONFLICT DO NOTHING
    RETURNING sequence`,
});
