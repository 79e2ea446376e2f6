import { notFound } from '@parley/protocol/errors/errors.ts';
import { WEBHOOK_TEST } from '@parley/protocol/event-areas.ts';
import { type DeliveryStatus, TRY_LIMITS } from '@parley/protocol/resources/webhook-delivery.ts';
import { sql } from 'kysely';
import { IS_DIRECT } from '../../core/resources/conversation.ts';
import type { Db, Querier, Tx } from '../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type Due, LeasedRows } from '../../platform/db/queue/leased-rows.ts';
import type { Delivery, DeliveryRow, KeptTry, Tried } from './delivery.ts';
import { IS_TRIED, type WebhookRow } from './webhook-store.ts';

/** The state that is stored after a try, or for an untried delivery. */
export type DeliveryState = Omit<Tried, 'next_try_at' | 'tries'> &
  Due & {
    /** The tries as JSON; null where none is kept. */
    readonly tries: string | null;
  };

/** Returns the state of a delivery that waits this long for its next try or its lease's end. */
export function pending(
  due_in_ms: number,
  { attempts, tries = null }: Pick<Delivery, 'attempts' | 'tries'> = { attempts: 0 },
): DeliveryState {
  const none = { last_status_code: null, last_error: null, last_ms: null };
  return { status: 'pending', attempts, due_in_ms, ...none, tries: tries && JSON.stringify(tries) };
}

/**
 * Adds deliveries with their states in one statement. An existing delivery takes a state only if it
 * was pending and the new state is not. Leaves out deliveries of deleted webhooks. Undelivered ones
 * of disabled webhooks are stored as failed, unless there are too many
 * (DECISIONS.md#failed-deliveries-are-kept).
 */
export async function addDeliveries(
  db: Querier,
  rows: readonly { readonly delivery: Delivery; readonly state: DeliveryState }[],
): Promise<void> {
  await db.query(INSERT, JSON.stringify(rows.map(({ delivery, state }) => ({ ...delivery, ...state }))));
}

/** Returns the tries of a delivery with one more, as JSON. */
export function withTry({ tries }: Pick<Delivery, 'tries'>, last: KeptTry): string {
  return JSON.stringify([...(tries ?? []), last].slice(-TRY_LIMITS.tries));
}

/** Returns the deliveries of a webhook, newest event first. */
export function readDeliveries(
  db: Querier,
  webhookId: string,
  status: DeliveryStatus | undefined,
  page: KeysetPage,
): Promise<DeliveryRow[]> {
  return status === undefined
    ? ALL.readPage(db, [webhookId], page)
    : OF_STATUS.readPage(db, [webhookId, status], page);
}

/** Throws `resource_not_found` (param delivery_id). */
export function findDelivery(db: Db, webhookId: string, id: string): Promise<DeliveryRow> {
  return db.kysely
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('delivery', 'delivery_id'));
}

/**
 * Returns a delivery whose payload may be shown: `isWithheld` if it is of a direct message, which
 * the webhook does not include. Throws `resource_not_found` (param delivery_id).
 */
export async function findToShow(
  db: Db,
  { id: webhookId, include_direct: isIncluded }: Pick<WebhookRow, 'id' | 'include_direct'>,
  id: string,
): Promise<DeliveryRow & { readonly isWithheld: boolean }> {
  const row = await findDelivery(db, webhookId, id);
  if (isIncluded || row.conversation_id === null) return { ...row, isWithheld: false };
  const [direct] = await db.query(IS_OF_DIRECT, row.conversation_id);
  return { ...row, isWithheld: direct !== undefined };
}

/** Inserts the delivery of a test event, due now. */
export async function insertTest(
  tx: Tx,
  ids: Pick<DeliveryRow, 'webhook_id' | 'id' | 'event_id' | 'trace'>,
): Promise<DeliveryRow> {
  const now = sql<string>`clock_timestamp()`;
  return tx.kysely
    .insertInto('webhook_deliveries')
    .values({ ...ids, event_type: WEBHOOK_TEST, occurred_at: now, next_try_at: now })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/**
 * Restarts the schedule of a delivery, whatever its state. Its ids stay. Throws
 * `resource_not_found` (param delivery_id).
 */
export function startOver(tx: Tx, webhookId: string, id: string): Promise<DeliveryRow> {
  return tx.kysely
    .updateTable('webhook_deliveries')
    .set({
      status: 'pending',
      was_delivered: sql<boolean>`was_delivered OR status = 'delivered'`,
      attempts: 0,
      next_try_at: sql<string>`clock_timestamp()`,
      updated_at: sql<string>`later_than(updated_at)`,
    })
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow(() => notFound('delivery', 'delivery_id'));
}

const IS_OF_DIRECT = statement<[conversationId: string], object>('is-of-direct-message')`
    SELECT FROM conversations c WHERE c.id = $1 AND c.${IS_DIRECT}`;

const COLUMNS = `webhook_id, id, event_id, event_type, conversation_id, sequence, head, resource_id, change, occurred_at,
      trace, url`;

// Sorted, so that two nodes that handle the same events cannot deadlock.
const INSERT = statement<[deliveries: string]>('insert-webhook-deliveries')`
    INSERT INTO webhook_deliveries (${COLUMNS},
      status, attempts, next_try_at, last_status_code, last_error, last_ms, tries)
    SELECT DISTINCT ON (e.webhook_id, e.id) e.webhook_id, e.id, e.event_id, e.event_type, e.conversation_id, e.sequence, e.head, e.resource_id, e.change,
      e.occurred_at, e.trace, e.url,
      CASE WHEN refused THEN 'failed' ELSE e.status END, e.attempts,
      CASE WHEN NOT refused THEN clock_timestamp() + e.due_in_ms * interval '1 ms' END, e.last_status_code,
      CASE WHEN refused THEN 'webhook_disabled' ELSE e.last_error END, e.last_ms, e.tries::jsonb
    FROM json_to_recordset($1::json) AS e(webhook_id text, id text, event_id text, event_type text,
        conversation_id text, sequence bigint, head bigint, resource_id text, change jsonb, occurred_at timestamptz,
        trace text, url text, status text, attempts integer, due_in_ms double precision, last_status_code integer,
        last_error text, last_ms integer, tries text)
      JOIN webhooks w ON w.id = e.webhook_id
        AND (w.disabled_reason IS DISTINCT FROM 'backlog' OR w.is_callback OR e.status = 'delivered'),
      LATERAL (SELECT NOT ${IS_TRIED} AND e.status = 'pending' AS refused) AS r
    ORDER BY e.webhook_id, e.id, e.status = 'pending'
    ON CONFLICT (webhook_id, id) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
      next_try_at = excluded.next_try_at, last_status_code = excluded.last_status_code,
      last_error = excluded.last_error, last_ms = excluded.last_ms,
      tries = excluded.tries, updated_at = clock_timestamp()
      WHERE webhook_deliveries.status = 'pending' AND excluded.status <> 'pending'`;

// Webhooks with pending deliveries are looked up one by one in the index, so that a webhook with
// many deliveries is not read through.
const WAITING = `waiting AS (
      (SELECT webhook_id FROM webhook_deliveries WHERE status = 'pending' ORDER BY webhook_id LIMIT 1)
      UNION ALL
      SELECT (SELECT d.webhook_id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.webhook_id > waiting.webhook_id ORDER BY d.webhook_id LIMIT 1)
      FROM waiting WHERE waiting.webhook_id IS NOT NULL
    )`;

/** SQL: whether an enabled webhook has a due delivery. */
export const HAS_DUE = `EXISTS (
    WITH RECURSIVE ${WAITING}
    SELECT FROM waiting
    WHERE (SELECT ${IS_TRIED} FROM webhooks w WHERE w.id = waiting.webhook_id) AND EXISTS (
      SELECT FROM webhook_deliveries d
      WHERE d.webhook_id = waiting.webhook_id AND d.status = 'pending' AND d.next_try_at <= statement_timestamp()
    ))`;

/** Counting stops here. */
const MOST_COUNTED = 100_000;

/**
 * Waiting deliveries. A node takes at most `room` of each webhook, so that no webhook displaces
 * another; `rooms` lists the webhooks that are busy on the node.
 */
export const DELIVERIES = new LeasedRows<
  Pick<Delivery, 'webhook_id' | 'id'>,
  // Withheld if it concerns a direct message, which the webhook no longer includes.
  Delivery & { readonly is_withheld: boolean },
  [webhookIds: readonly string[], rooms: readonly number[], room: number, limit: number],
  DeliveryState
>({
  name: 'webhook-deliveries',
  table: 'webhook_deliveries',
  key: ['webhook_id', 'id'],
  due: 'next_try_at',
  open: `q.status = 'pending'`,
  take: {
    with: `RECURSIVE ${WAITING}, found AS (
      SELECT taken.webhook_id, taken.id, w.include_direct
      FROM (SELECT webhook_id FROM waiting WHERE webhook_id IS NOT NULL ORDER BY random()) AS waiting
        JOIN webhooks w ON w.id = waiting.webhook_id AND ${IS_TRIED}
        LEFT JOIN unnest($2::text[], $3::integer[]) AS busy(webhook_id, room) ON busy.webhook_id = w.id,
        LATERAL (
          SELECT d.webhook_id, d.id FROM webhook_deliveries d
          WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_try_at <= clock_timestamp()
          ORDER BY d.next_try_at LIMIT coalesce(busy.room, $4) FOR UPDATE SKIP LOCKED
        ) AS taken
      LIMIT $5
    )`,
    from: 'found',
    returning: `${COLUMNS.replace(/\w+/g, 'q.$&')}, q.attempts, q.tries,
      NOT due.include_direct AND EXISTS (
        SELECT FROM conversations c WHERE c.id = q.conversation_id AND c.${IS_DIRECT}
      ) AS is_withheld`,
  },
  settle: {
    columns: {
      status: 'text',
      attempts: 'integer',
      last_status_code: 'integer',
      last_error: 'text',
      last_ms: 'integer',
      tries: 'jsonb',
    },
    set: 'updated_at = later_than(q.updated_at)',
    // A delivery that another node has ended keeps its state.
    where: `(q.status = 'pending' OR s.status = 'delivered')`,
  },
  measured: `
    WITH RECURSIVE ${WAITING}, enabled AS MATERIALIZED (
      SELECT w.id FROM waiting JOIN webhooks w ON w.id = waiting.webhook_id AND ${IS_TRIED}
    )
    SELECT
      (SELECT count(*) FROM (
        SELECT FROM enabled, LATERAL (
          SELECT FROM webhook_deliveries d WHERE d.webhook_id = enabled.id AND d.status = 'pending'
        ) AS one LIMIT ${MOST_COUNTED}) AS counted) AS waiting,
      (SELECT extract(epoch FROM clock_timestamp() - min(first.occurred_at))::double precision FROM enabled, LATERAL (
        SELECT d.occurred_at FROM webhook_deliveries d WHERE d.webhook_id = enabled.id AND d.status = 'pending'
        ORDER BY d.id LIMIT 1) AS first) AS oldest`,
});

const LIST = {
  columns: 'd.*',
  from: 'webhook_deliveries d',
  key: [['d.id', 'text']],
} as const;

const ALL = keysetList<[webhookId: string], DeliveryRow>({
  ...LIST,
  name: 'list-webhook-deliveries',
  where: 'd.webhook_id = $1',
});

const OF_STATUS = keysetList<[webhookId: string, status: DeliveryStatus], DeliveryRow>({
  ...LIST,
  name: 'list-webhook-deliveries-of-status',
  where: 'd.webhook_id = $1 AND d.status = $2',
});
