import { CONVERSATION_CREATED } from '../../core/conversations/outbox-topics.ts';
import { RESOURCES_CHANGED } from '../../core/events/changes.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { MESSAGES_SENT } from '../../core/messages/outbox-topics.ts';
import type { Timeline } from '../../core/messages/timeline/timeline.ts';
import { headOf, settledAfter } from '../../core/messages/timeline/timeline-store.ts';
import { type KeysetPage, keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';

const CORE_TOPICS = [MESSAGES_SENT, RESOURCES_CHANGED, CONVERSATION_CREATED].map(({ name }) => name);

export interface CompletenessOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly timeline: Pick<Timeline, 'settle'>;
}

/** The progress of deliveries of a conversation's new messages. */
export interface Progress {
  readonly conversation_id: string;
  readonly through_sequence: number;
  /** The highest sequence of the conversation. */
  readonly head: number;
  /** Every sequence up to this one is settled: a message, a void, or purged. */
  readonly settled: number;
}

/**
 * Proves that a receiver missed nothing (DECISIONS.md#completeness-is-proven-when-asked). The
 * proven part is stored, so a request examines only newer events.
 */
export class Completeness {
  readonly #options: CompletenessOptions;

  constructor(options: CompletenessOptions) {
    this.#options = options;
  }

  /** Returns the time before which every event was delivered. */
  async allThrough(webhookId: string): Promise<string> {
    // The topics of outbox rows that become events.
    const { database } = this.#options;
    const topics = [...CORE_TOPICS, ...database.hooks.all('eventTopic')];
    const [row] = await database.query(PROVE_ALL, webhookId, topics);
    return row!.all_through;
  }

  /** Returns a page of the conversations with messages for the webhook, in the page's direction. */
  async page(webhookId: string, page: KeysetPage): Promise<Progress[]> {
    const { database } = this.#options;
    const listed = await LISTED.readPage(database, [webhookId], page);
    const ids = listed.map(({ conversation_id }) => conversation_id);
    const proven = await database.query(PROVE, webhookId, ids);
    const progress = new Map(proven.map((row) => [row.conversation_id, row]));
    const found = ids.flatMap((id) => progress.get(id) ?? []);
    this.#settle(found);
    return found;
  }

  /**
   * Settles sequences that are neither a message nor a void, such as the sequences of a node that
   * died, because perhaps nobody else reads the conversation. The next request finds them settled.
   */
  #settle(progress: readonly Progress[]): void {
    const { timeline, log } = this.#options;
    for (const { conversation_id: conversationId, settled, head } of progress) {
      if (settled >= head) continue;
      timeline.settle({ conversationId, after: settled, upTo: head }).catch((error: unknown) => {
        log.warn({ err: error, conversation_id: conversationId }, 'could not settle sequence numbers');
      });
    }
  }
}

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

// Advances the rows of these conversations as far as is proven, and returns them. In one snapshot:
// a message in it without its outbox row was recorded for every webhook that wanted it. A sequence
// without a message was purged, or is not below `settled`. Events that were dropped after too many
// failures are not found again, so nothing more is claimed.
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
