import type { OutboxRow, Querier, Tx } from '../connection/handle.ts';
import { LISTENERS_REVISION, type ListenersRevision } from '../connection/listeners-revision.ts';
import { statement } from '../connection/statement.ts';
import type { Topic } from './topic.ts';

/**
 * Milliseconds for which a row belongs to the node that wrote it, or has renewed it; then it is
 * overdue, and sweeps of all nodes look at it (docs/architecture.md#the-write-path).
 */
const OVERDUE_AFTER_MS = 1_000;

/** Milliseconds that a sweep has for its rows; they are overdue OVERDUE_AFTER_MS later. */
const LEASE_MS = 10_000;

/** `due_at` of a row that no node is handling: the next sweep takes it at once. */
const AT_ONCE = '-infinity';

/**
 * How often a row is tried before resume cursors stop waiting for it: at least ten minutes, since
 * every attempt that counts has its whole lease
 * (src/edge/gateway/DECISIONS.md#cursors-wait-for-the-outbox).
 */
export const AWAITED_ATTEMPTS = 50;

/**
 * Writes a row that exists if and only if `tx` commits. It is handled right after the commit
 * (Database.onCommitted), and by a sweep if this process dies in between. `payload` is JSON.
 */
export async function enqueue<Payload extends object>(
  tx: Tx,
  { name: topic }: Topic<Payload>,
  payload: NoInfer<Payload>,
): Promise<void> {
  const { id } = await tx.kysely
    .insertInto('outbox')
    .values({
      topic,
      payload: JSON.stringify(payload),
      ...(tx.outbox.isHandledHere ? {} : { due_at: AT_ONCE }),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  tx.outbox.rows.push({ id, topic, payload, attempts: 0 });
}

export interface OverdueRow {
  readonly id: number;
  /** Whether no node can be handling it. */
  readonly isAtOnce: boolean;
}

/** Returns rows that their writer has neither handled nor renewed, longest waiting first. */
export function findOverdue(db: Querier, limit: number): Promise<OverdueRow[]> {
  return db.query(FIND_OVERDUE, limit);
}

/**
 * Takes the rows of `ids` that are still overdue, and keeps other sweeps away from them for a
 * while. The lease is a time in the row, not a lock: no transaction stays open while effects run.
 */
export function takeOverdue(db: Querier, ids: readonly number[]): Promise<OutboxRow[]> {
  return db.query(TAKE_OVERDUE, ids);
}

/** Keeps sweeps away from rows that a node is still handling. A longer lease stays as it is. */
export async function renew(relaxed: Querier, ids: readonly number[]): Promise<void> {
  await relaxed.query(RENEW, ids);
}

/** Days for which a row that fails each time is tried, and for which it is kept in all. */
const TRIED_DAYS = 7;
const KEPT_DAYS = 30;

/** A row that is not tried any more. */
export type DeadRow = Pick<OutboxRow, 'id' | 'topic' | 'attempts'>;

/**
 * Gives up rows that failed for TRIED_DAYS (they stay for an operator, due at `infinity`) and
 * deletes those older than KEPT_DAYS. Returns the rows given up and the number of all that are
 * left.
 */
export async function buryDead(db: Querier): Promise<{ given: DeadRow[]; left: number }> {
  await db.query(REMOVE_DEAD);
  const given = await db.query(GIVE_UP, AWAITED_ATTEMPTS);
  const [dead] = await db.query(COUNT_DEAD);
  return { given, left: dead!.count };
}

/**
 * Deletes rows whose events were published and whose effects are committed, unless the listeners
 * have changed since this revision: a sweep then handles them once more. Returns the committed
 * revision. Runs on Database.relaxed: a row that reappears after a crash is handled again.
 */
export async function removeDone(
  relaxed: Querier,
  ids: readonly number[],
  handledAt: ListenersRevision,
): Promise<ListenersRevision> {
  const [row] = await relaxed.query(REMOVE, ids, handledAt);
  return row!.revision;
}

export interface Backlog {
  readonly pending: number;
  /** The age of the oldest. */
  readonly lagSeconds: number;
}

export async function measureOutbox(db: Querier): Promise<Backlog> {
  const [row] = await db.query(MEASURE);
  return { pending: row!.pending, lagSeconds: Number(row!.lag ?? 0) };
}

/** SQL: whether `findOverdue` would find any. */
export const HAS_OVERDUE = `(SELECT due_at FROM outbox ORDER BY due_at LIMIT 1)
    <= statement_timestamp() - interval '${OVERDUE_AFTER_MS} ms'`;

// Subqueries, so that one statement sees them together with its snapshot.

/** The highest id given out so far: a row with a higher one was inserted later. */
export const LAST_OUTBOX_ID = '(SELECT last_value FROM outbox_id_seq)';

/** The lowest id of the rows that resume cursors wait for, or null. */
export const FIRST_UNDONE_ID = `(SELECT id FROM outbox WHERE attempts < ${AWAITED_ATTEMPTS} ORDER BY id LIMIT 1)`;

// Not clock_timestamp(), for which Postgres would read the index to its end.
const IS_OVERDUE = `due_at <= statement_timestamp() - interval '${OVERDUE_AFTER_MS} ms'`;

const FIND_OVERDUE = statement<[limit: number], OverdueRow>('outbox-find-overdue')`
    SELECT id, due_at = '${AT_ONCE}' AS "isAtOnce" FROM outbox WHERE ${IS_OVERDUE} ORDER BY due_at LIMIT $1`;

const TAKE_OVERDUE = statement<[ids: readonly number[]], OutboxRow>('outbox-take-overdue')`
    UPDATE outbox SET attempts = attempts + 1, due_at = clock_timestamp() + interval '${LEASE_MS} ms'
    WHERE id IN (SELECT id FROM outbox WHERE id = ANY($1::bigint[]) AND ${IS_OVERDUE} FOR UPDATE SKIP LOCKED)
    RETURNING id, topic, payload, attempts`;

const RENEW = statement<[ids: readonly number[]]>('outbox-renew')`
    UPDATE outbox SET due_at = clock_timestamp() WHERE id = ANY($1::bigint[]) AND due_at < clock_timestamp()`;

// One snapshot: a listener whose commit it does not see was not acknowledged before the events of
// these rows.
const REMOVE = statement<
  [ids: readonly number[], handledAt: ListenersRevision],
  { revision: ListenersRevision }
>('outbox-remove')`
    WITH removed AS (DELETE FROM outbox WHERE id = ANY($1::bigint[]) AND ${LISTENERS_REVISION} = $2)
    SELECT ${LISTENERS_REVISION} AS revision`;

// Only rows that have failed often enough for cursors not to wait for them.
const GIVE_UP = statement<[attempts: number], DeadRow>('outbox-give-up')`
    UPDATE outbox SET due_at = 'infinity'
    WHERE due_at < 'infinity' AND attempts >= $1 AND created_at < clock_timestamp() - interval '${TRIED_DAYS} days'
    RETURNING id, topic, attempts`;

const REMOVE_DEAD = statement('outbox-remove-dead')`
    DELETE FROM outbox
    WHERE due_at = 'infinity' AND created_at < clock_timestamp() - interval '${KEPT_DAYS} days'`;

const COUNT_DEAD = statement<[], { count: number }>('outbox-count-dead')`
    SELECT count(*) AS count FROM outbox WHERE due_at = 'infinity'`;

// Rows at `infinity` are dead: those are neither taken nor counted.
const MEASURE = statement<[], { pending: number; lag: number | null }>('outbox-measure')`
    SELECT count(*) AS pending, extract(epoch FROM clock_timestamp() - min(created_at)) AS lag
    FROM outbox WHERE due_at < 'infinity'`;
