import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Since } from '../../../core/events/event-source.ts';
import type { Engine } from '../../../core/frames/engine.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import { DATABASE_ID } from '../../../platform/db/connection/server-version.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { TIMELINE } from '../../../platform/db/connection/timeline.ts';
import { FIRST_UNDONE_ID, LAST_OUTBOX_ID } from '../../../platform/db/queue/outbox.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { Logger } from '../../../platform/log.ts';

/** Milliseconds by which a cursor lags the moment up to which everything has arrived here. */
const MARGIN_MS = 10_000;
const SAMPLE_EVERY_MS = 1_000;
/** A node that handed out no cursor for this long has no sockets, as heartbeats carry one. */
const QUIET_AFTER_MS = 60_000;
/** Such a node takes one sample in this many; a resume from its first cursor reads more. */
const QUIET_EVERY = 10;
/** A client that resumes from further back must reload (docs/realtime.md#catching-up). */
const LIFETIME_MS = 7 * 24 * 60 * 60 * 1_000;
const SECRET = 'cursor_secret';
/** Ends a cursor. A poll's record of deliveries follows it (answers/poll-cursor.ts). */
export const BEHIND = '~';

export interface ReadCursor extends Since {
  /** The transaction from which the actor's feed may have been missed: `xid` or a later one. */
  readonly feedXid: string;
  readonly ageMs: number;
  /** Older than the lifetime of cursors. */
  readonly expired: boolean;
}

type CursorEngine = Pick<Engine, 'wholeMs'>;

export interface CursorTiming {
  /** The clock of `engine.wholeMs`, in milliseconds. */
  readonly now?: () => number;
  readonly sampleEveryMs?: number;
  /** The most by which an unwritten transaction, or a row in it, is older than a sample. */
  readonly unseenMs?: number;
}

/**
 * Points in the history of Postgres: the oldest transaction that was still open at a moment, or
 * whose events were not published yet. Every change in a row with a lower `changed_in` has been
 * delivered; later changes may not have been. Clients get them as opaque cursors; the node's repair
 * uses them too.
 */
export class Cursors {
  readonly #database: Database;
  readonly #oldest: GatheredReads<void, Oldest>;
  readonly #engine: CursorEngine;
  readonly #now: () => number;
  readonly #unseenMs: number;
  readonly #loop: Loop;
  /** Oldest first. The first was taken before any outbox row that is undone now was inserted. */
  #snapshots: Snapshot[] = [];
  /** Oldest first: one older than the margin, and all younger ones. */
  #samples: Sample[] = [];
  /** Moments (`performance.now()`) that the cursor does not pass until they are released. */
  readonly #holds = new Set<{ readonly atMs: number }>();
  #current: string | undefined;
  /** When `current` was last called, by performance.now(). */
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** Samples skipped since the last one. */
  #leftOut = 0;
  /** `writers_began` of the last query. */
  #began = '';
  #databaseId = '';
  #secret = '';

  /** Takes the first sample. Rejects if Postgres is unavailable. */
  static async start(
    database: Database,
    engine: CursorEngine,
    log: Logger,
    timing: CursorTiming = {},
  ): Promise<Cursors> {
    const cursors = new Cursors(database, engine, log, timing);
    try {
      cursors.#secret = await sharedSecret(database, SECRET);
      const [before] = await database.query(READ_SNAPSHOT, cursors.#unseenMs);
      cursors.#began = before!.writers_began;
      await cursors.#sample();
    } catch (error) {
      await cursors.close();
      throw error;
    }
    return cursors;
  }

  /** Use `Cursors.start`. */
  private constructor(
    database: Database,
    engine: CursorEngine,
    log: Logger,
    { now = () => performance.now(), sampleEveryMs = SAMPLE_EVERY_MS, unseenMs = UNSEEN_MS }: CursorTiming,
  ) {
    this.#database = database;
    this.#oldest = new GatheredReads(async (asks) => {
      const [oldest] = await database.query(READ_OLDEST);
      return asks.map(() => oldest!);
    });
    this.#engine = engine;
    this.#now = now;
    this.#unseenMs = unseenMs;
    this.#loop = new Loop({
      intervalMs: sampleEveryMs,
      run: () => (this.#isLeftOut() ? Promise.resolve() : this.#sample()),
      onError: (error) => log.debug({ err: error }, 'could not make a new cursor'),
    });
  }

  /**
   * Returns the cursor for `ready` and heartbeats, from which a client may resume on any node. It
   * is at least ten seconds older than the moment up to which everything has arrived at this node.
   */
  current(): string {
    this.#askedAtMs = performance.now();
    this.#current ??= this.#first();
    return this.#current;
  }

  /**
   * Returns the cursor for a session that has its feed live and reads it from Postgres afterwards.
   * The feed has no other source, so the cursor passes all its events committed so far. Messages
   * are also replayed from this node's memory, which may lack changes of the last seconds.
   */
  async beforeFeed(): Promise<string> {
    const { xid: feedXid, database_id: databaseId } = await this.#oldest.ask();
    const cursor = this.current();
    const content = databaseId === this.#databaseId ? this.#open(cursor) : undefined;
    return content === undefined ? cursor : this.#write({ ...content, feedXid });
  }

  /**
   * Returns a cursor with the latest moments of these cursors. Nodes are not at the same moment,
   * and everything before each moment has been sent.
   */
  latest(own: string, others: readonly (string | undefined)[]): string {
    const contents = [own, ...others].map((cursor) => this.#open(cursor ?? ''));
    const known = contents.filter((content) => content !== undefined);
    if (known.length === 0) return own;
    const base = known.reduce((one, other) => (isLater(other.xid, one.xid) ? other : one), known[0]!);
    const feedXid = known
      .map((content) => content.feedXid)
      .reduce((one, other) => (isLater(other, one) ? other : one), base.xid);
    return this.#write({ ...base, feedXid });
  }

  /** Returns undefined if no node issued it. The seal keeps clients from reading back at will. */
  read(cursor: string): ReadCursor | undefined {
    const content = this.#open(cursor);
    if (content === undefined) return undefined;
    const { xid, feedXid, expiresAtMs, beganMs } = content;
    const ageMs = Date.now() - (expiresAtMs - LIFETIME_MS);
    return { xid, feedXid, began: new Date(beganMs).toISOString(), ageMs, expired: ageMs >= LIFETIME_MS };
  }

  /** Returns since when a node that was last whole at `healthySinceMs` may have missed changes. */
  before(healthySinceMs: number): Since {
    const safe = this.#samples.filter((sample) => sample.takenAtMs <= healthySinceMs - MARGIN_MS);
    return (safe.at(-1) ?? this.#samples[0]!).point;
  }

  /** Keeps the cursor before `atMs` until the result is called: later ones may be missing here. */
  hold(atMs: number): () => void {
    const hold = { atMs };
    this.#holds.add(hold);
    return () => this.#holds.delete(hold);
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  #first(): string {
    const { xid, began, time } = this.#samples[0]!.point;
    const expiresAtMs = Date.parse(time) + LIFETIME_MS;
    return this.#write({ xid, feedXid: xid, expiresAtMs, beganMs: Date.parse(began) });
  }

  /** Returns undefined for a cursor that no node of this database issued. */
  #open(cursor: string): CursorContent | undefined {
    const [sealed = ''] = cursor.split(BEHIND, 1);
    const [content = '', seal = '', ...rest] = sealed.split('.');
    const given = Buffer.from(seal, 'base64url');
    const expected = this.#seal(content);
    if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      return undefined;
    }
    const [databaseId, xid, expiresAtMs, beganMs = expiresAtMs - LIFETIME_MS, feedXid = xid]: CursorFields =
      JSON.parse(Buffer.from(content, 'base64url').toString());
    return databaseId === this.#databaseId ? { xid, expiresAtMs, beganMs, feedXid } : undefined;
  }

  #write({ xid, expiresAtMs, beganMs, feedXid }: CursorContent): string {
    const fields: CursorFields = [this.#databaseId, xid, expiresAtMs, beganMs];
    if (isLater(feedXid, xid)) fields.push(feedXid);
    const content = Buffer.from(JSON.stringify(fields)).toString('base64url');
    return `${content}.${this.#seal(content).toString('base64url')}`;
  }

  #seal(content: string): Buffer {
    return createHmac('sha256', this.#secret).update(content).digest().subarray(0, SEAL_BYTES);
  }

  #isLeftOut(): boolean {
    const isQuiet = performance.now() - this.#askedAtMs > QUIET_AFTER_MS;
    this.#leftOut = isQuiet ? (this.#leftOut + 1) % QUIET_EVERY : 0;
    return this.#leftOut > 0;
  }

  async #sample(): Promise<void> {
    const [read] = await this.#database.query(READ_SNAPSHOT, this.#unseenMs);
    const takenAtMs = this.#now();
    if (this.#databaseId !== '' && this.#databaseId !== read!.database_id) this.#begunAgainAt(read!.xid);
    this.#databaseId = read!.database_id;
    // From the previous query: a transaction open in this snapshot was open there or began later.
    const snapshot = { ...read!, began: this.#began };
    this.#began = read!.writers_began;
    const wholeMs = Math.min(this.#engine.wholeMs, ...[...this.#holds].map(({ atMs }) => atMs));
    const aged = this.#samples.findLastIndex((sample) => sample.takenAtMs <= wholeMs - MARGIN_MS);
    const sample = { takenAtMs, point: this.#lastPublished(snapshot) };
    this.#samples = [...this.#samples.slice(Math.max(aged, 0)), sample];
    this.#current = undefined;
  }

  /**
   * Begins again after a standby was promoted. Earlier samples stay, since their transactions are
   * here too. The ids of transactions that were lost on the way are given to others.
   */
  #begunAgainAt(xid: string): void {
    const earlier = (one: Snapshot): Snapshot => (BigInt(one.xid) > BigInt(xid) ? { ...one, xid } : one);
    this.#samples = this.#samples.map((sample) => ({ ...sample, point: earlier(sample.point) }));
    this.#snapshots = this.#snapshots.map(earlier);
  }

  /**
   * Returns the last snapshot taken before the first undone row in `snapshot` was inserted. Such
   * rows are committed and their events are not published yet, so no cursor may pass them.
   */
  #lastPublished(snapshot: Snapshot): Snapshot {
    const { first_undone_id: undoneFrom } = snapshot;
    const snapshots = [...this.#snapshots, snapshot];
    const last =
      undoneFrom === null
        ? snapshots.length - 1
        : snapshots.findLastIndex(({ last_outbox_id: given }) => given < undoneFrom);
    // Without such a snapshot the first one is used: the row's transaction was still open then, or
    // had committed before this node had a reader.
    this.#snapshots = snapshots.slice(Math.max(last, 0));
    return this.#snapshots[0]!;
  }
}

interface Oldest {
  /** The oldest transaction that is open: changes of earlier ones are there for the next read. */
  readonly xid: string;
  readonly database_id: string;
}

interface Sample {
  readonly takenAtMs: number;
  /** All changes of transactions before `point.xid` had been published at the sample. */
  readonly point: Snapshot;
}

interface Snapshot extends Since {
  readonly time: string;
  readonly last_outbox_id: number;
  readonly first_undone_id: number | null;
}

interface CursorContent {
  readonly xid: string;
  readonly feedXid: string;
  readonly expiresAtMs: number;
  readonly beganMs: number;
}

/** `beganMs` is absent in cursors of earlier versions, `feedXid` where it is `xid`. */
type CursorFields = [
  databaseId: string,
  xid: string,
  expiresAtMs: number,
  beganMs?: number,
  feedXid?: string,
];

function isLater(one: string, other: string): boolean {
  return BigInt(one) > BigInt(other);
}

const SEAL_BYTES = 16;

/**
 * Longer than a statement may run before its first write, which gives it a transaction id, plus the
 * time by which a notification may be older than its transaction
 * (src/core/notifications/DECISIONS.md#new-notifications-are-found-by-their-ids).
 */
const UNSEEN_MS = 10_000;

// A database recovered from a base backup, and a standby that was promoted, have the identity of
// their original but other transactions under the same ids; the timeline tells them apart.
const IDENTITY = `${DATABASE_ID} || '.' || ${TIMELINE} AS database_id`;

const READ_OLDEST = statement<[], Oldest>('read-oldest-open')`
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid, ${IDENTITY}`;

const READ_SNAPSHOT = statement<
  [unseenMs: number],
  Omit<Snapshot, 'began'> & { writers_began: string; database_id: string }
>('read-snapshot')`
    SELECT (
        SELECT least(now(), min(xact_start)) - $1::integer * interval '1 ms'
        FROM pg_stat_get_activity(NULL) JOIN pg_database d ON d.oid = datid AND d.datname = current_database()
        WHERE backend_xid IS NOT NULL
      ) AS writers_began, pg_snapshot_xmin(pg_current_snapshot())::text AS xid, now() AS time,
      ${LAST_OUTBOX_ID} AS last_outbox_id, ${FIRST_UNDONE_ID} AS first_undone_id,
      ${IDENTITY}`;
