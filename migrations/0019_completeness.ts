import { type Kysely, sql } from 'kysely';

/**
 * webhook_progress: through which number every new message of a conversation that the webhook wants was delivered
 * (docs/decisions.md#completeness-is-proven-when-asked). A row is made with the first such message. `webhook_id` is not a
 * foreign key: what a removed webhook leaves is removed in steps.
 *
 * webhook_deliveries.was_delivered: a replay or a redelivery sends it again, so that it holds up no proof.
 *
 * webhooks.lost_since: since when events were not recorded, because too many deliveries had failed: nothing later can be
 * proven. replay_after, replay_through: the deliveries between these ids are to be sent again; null: none are.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE webhook_progress (
    webhook_id ${ID} NOT NULL,
    conversation_id ${ID} NOT NULL REFERENCES conversations ON DELETE CASCADE,
    through_sequence bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (webhook_id, conversation_id)
  )`,
  'CREATE INDEX webhook_progress_of_conversation ON webhook_progress (conversation_id)',
  'ALTER TABLE webhook_deliveries ADD COLUMN was_delivered boolean NOT NULL DEFAULT false',
  // What is delivered at the first try is not in it.
  `CREATE INDEX webhook_deliveries_blocking ON webhook_deliveries (webhook_id, conversation_id, sequence)
    WHERE event_type = 'message.created' AND status IN ('pending', 'failed') AND NOT was_delivered`,
  `ALTER TABLE webhooks
    ADD COLUMN lost_since timestamptz,
    ADD COLUMN replay_after ${ID},
    ADD COLUMN replay_through ${ID}`,
];
