import { type Kysely, sql } from 'kysely';

/**
 * The id of a notification begins with the microsecond at which its cause became true, so that (recipient_id, id) is
 * the order of the feed and the fence against a second row for one cause.
 *
 * `messages.notified_at` is that moment for messages that enter the timeline, end without being sent, or end their
 * stream later than they were made; null: `created_at`. `notifications.changed_in` is null until the row changes,
 * unless the row is made late (docs/decisions.md#new-notifications-are-found-by-their-ids), so a new row is in one
 * index only.
 *
 * A node of the version before cannot run beside this migration: it reads and writes the ids of before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  // Whole tables are joined here, which the settings of Parley's connections forbid (db/connection-options.ts).
  'SET LOCAL enable_seqscan = on',
  'SET LOCAL enable_hashjoin = on',

  `CREATE FUNCTION notification_id(at timestamptz, cause text, recipient text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT 'ntf_' || lpad(to_hex((extract(epoch FROM at AT TIME ZONE 'UTC') * 1000000)::bigint), 13, '0')
        || left(md5(cause || ' ' || recipient), 11)
    $$`,

  'ALTER TABLE messages ADD COLUMN notified_at timestamptz',
  `UPDATE messages SET notified_at = (outcome->>'at')::timestamptz WHERE outcome->>'at' IS NOT NULL`,
  // The messages of one statement shared one time; their numbers say in which order they arrived.
  `UPDATE messages m SET notified_at = m.created_at + ranked.behind * interval '1 microsecond'
    FROM (
      SELECT id, conversation_id,
        row_number() OVER (PARTITION BY conversation_id, created_at ORDER BY sequence) - 1 AS behind
      FROM messages WHERE status = 'sent' AND outcome IS NULL
    ) ranked
    WHERE ranked.behind > 0 AND m.id = ranked.id AND m.conversation_id = ranked.conversation_id`,
  // The end of a stream is when its notifications were made.
  `UPDATE messages m SET notified_at = made.at
    FROM (
      SELECT message_id, min(created_at) AS at FROM notifications WHERE message_id IS NOT NULL GROUP BY message_id
    ) made
    WHERE m.id = made.message_id AND m.streaming_state = 'complete' AND m.outcome IS NULL`,

  `ALTER TABLE notifications
    DROP CONSTRAINT notifications_pkey,
    ALTER COLUMN changed_in DROP NOT NULL,
    ALTER COLUMN changed_in DROP DEFAULT`,
  'DROP INDEX IF EXISTS notifications_message, notifications_feed, notifications_changed',
  // Cursors of sockets live for seven days: they find rows of before by `changed_in` alone.
  `UPDATE notifications n SET
      id = notification_id(caused.at, coalesce(n.message_id, n.id), n.recipient_id),
      created_at = caused.at,
      updated_at = CASE WHEN n.updated_at > n.created_at
        THEN greatest(n.updated_at, caused.at + interval '1 microsecond') ELSE caused.at END,
      changed_in = CASE WHEN n.updated_at > n.created_at OR n.created_at > now() - interval '7 days'
        THEN n.changed_in END
    FROM (
      SELECT o.id, o.recipient_id, coalesce(m.notified_at, m.created_at, o.created_at) AS at
      FROM notifications o
        LEFT JOIN messages m ON m.id = o.message_id AND m.conversation_id = o.resource_id
    ) caused
    WHERE caused.id = n.id AND caused.recipient_id = n.recipient_id`,
  'ALTER TABLE notifications ADD PRIMARY KEY (recipient_id, id) INCLUDE (status, updated_at)',
  'CREATE INDEX notifications_changed ON notifications (recipient_id, changed_in) WHERE changed_in IS NOT NULL',

  `UPDATE outbox SET payload = payload - 'notification_id' || jsonb_build_object('at', created_at)
    WHERE topic = 'participants.added'`,
];
