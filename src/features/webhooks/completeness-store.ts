import { MESSAGES_SENT } from '../../core/messages/outbox-topics.ts';
import { headOf, settledAfter } from '../../core/messages/timeline/timeline-store.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Delivery } from './delivery.ts';

/** The progress of deliveries of a conversation's new messages. */
export interface Progress {
  readonly conversation_id: string;
  readonly through_sequence: number;
  /** The highest sequence of the conversation. */
  readonly head: number;
  /** Every sequence up to this one is settled: a message, a void, or purged. */
  readonly settled: number;
}

/** Inserts the missing rows for the conversations of new messages. */
export async function insertProgress(
  db: Querier,
  deliveries: readonly Pick<Delivery, 'webhook_id' | 'conversation_id'>[],
): Promise<void> {
  await db.query(
    INSERT,
    deliveries.map(({ webhook_id }) => webhook_id),
    deliveries.map(({ conversation_id }) => conversation_id!),
  );
}

/** Returns conversations of which a webhook has been sent messages, ordered by id. */
export async function readListed(db: Querier, webhookId: string, page: KeysetPage): Promise<string[]> {
  const rows = await LISTED.readPage(db, [webhookId], page);
  return rows.map(({ conversation_id }) => conversation_id);
}

/** Advances the rows of these conversations as far as is proven, and returns them. */
export function prove(
  db: Querier,
  webhookId: string,
  conversationIds: readonly string[],
): Promise<Progress[]> {
  return db.query(PROVE, webhookId, conversationIds);
}

/**
 * Advances and returns the time before which every event was delivered. `topics` are those of the
 * outbox rows that become events.
 */
export async function proveAll(db: Querier, webhookId: string, topics: readonly string[]): Promise<string> {
  const [row] = await db.query(PROVE_ALL, webhookId, topics);
  return row!.all_through;
}

const INSERT = statement<[webhookIds: readonly string[], conversationIds: readonly string[]]>(
  'insert-webhook-progress',
)`
    INSERT INTO webhook_progress (webhook_id, conversation_id)
    SELECT w.id, c.id
    FROM unnest($1::text[], $2::text[]) AS listed(webhook_id, conversation_id)
      JOIN webhooks w ON w.id = listed.webhook_id JOIN conversations c ON c.id = listed.conversation_id
    ORDER BY w.id, c.id
    ON CONFLICT DO NOTHING`;

const LISTED = keysetList<[webhookId: string], { readonly conversation_id: string }>({
  name: 'list-webhook-progress',
  columns: 'p.conversation_id',
  from: 'webhook_progress p',
  where: 'p.webhook_id = $1',
  key: [['p.conversation_id', 'text']],
  order: 'oldest_first',
});

/** SQL: whether a delivery counts as not delivered. */
const IS_UNDONE = `d.status IN ('pending', 'failed') AND NOT d.was_delivered`;

// One snapshot: a message in it without its outbox row was recorded for every webhook that wanted
// it. A sequence without a message was purged, or is not below `settled`. Events that were dropped
// after too many failures are not found again, so nothing more is claimed.
const PROVE = statement<[webhookId: string, conversationIds: readonly string[]], Progress>(
  'prove-webhook-progress',
)`
    WITH unrecorded AS MATERIALIZED (
      SELECT m.conversation_id, min(m.sequence) AS first
      FROM outbox o, jsonb_to_recordset(o.payload->'messages') AS sent(conversation_id text, id text)
        JOIN messages m ON m.id = sent.id AND m.conversation_id = sent.conversation_id
      WHERE o.topic = '${MESSAGES_SENT.name}' AND sent.conversation_id = ANY($2)
      GROUP BY m.conversation_id
    ), proven AS (
      SELECT p.conversation_id, coalesce(h.head, 0) AS head, s.settled,
        CASE WHEN w.lost_since IS NOT NULL THEN p.through_sequence
        ELSE greatest(p.through_sequence, least(s.settled, u.first - 1, (
          SELECT min(d.sequence) - 1 FROM webhook_deliveries d
          WHERE d.webhook_id = p.webhook_id AND d.conversation_id = p.conversation_id
            AND d.event_type = 'message.created' AND ${IS_UNDONE}
        ))) END AS through_sequence
      FROM webhook_progress p JOIN webhooks w ON w.id = p.webhook_id
        LEFT JOIN unrecorded u ON u.conversation_id = p.conversation_id,
        LATERAL ${headOf('p.conversation_id')} h,
        LATERAL ${settledAfter('p.conversation_id', 'greatest(h.floor, p.through_sequence)')} s
      WHERE p.webhook_id = $1 AND p.conversation_id = ANY($2)
    ), advanced AS (
      UPDATE webhook_progress p
      SET through_sequence = proven.through_sequence, updated_at = clock_timestamp()
      FROM proven
      WHERE p.webhook_id = $1 AND p.conversation_id = proven.conversation_id
        AND p.through_sequence < proven.through_sequence
    )
    SELECT conversation_id, through_sequence, head, settled FROM proven ORDER BY conversation_id`;

// An event that was committed before the statement began is in its snapshot, as a delivery or as an
// outbox row, which is not younger than the commit. An event has the time of a statement of its
// transaction, plus a microsecond for each other event of that statement.
const PROVE_ALL = statement<[webhookId: string, topics: readonly string[]], { readonly all_through: string }>(
  'prove-webhook-all',
)`
    UPDATE webhooks w SET all_through = greatest(w.all_through, least(
      statement_timestamp(),
      w.lost_since,
      (SELECT min(o.created_at) FROM outbox o WHERE o.topic = ANY($2)),
      (SELECT min(first.occurred_at) - interval '100 ms'
        FROM unnest(ARRAY['pending', 'failed']) AS undone(status), LATERAL (
          SELECT d.occurred_at FROM webhook_deliveries d
          WHERE d.webhook_id = $1 AND d.status = undone.status AND ${IS_UNDONE}
          ORDER BY d.id LIMIT 1
        ) AS first)
    ))
    WHERE w.id = $1
    RETURNING w.all_through`;
