import { sql } from 'kysely';
import type { BenchDatabase } from './postgres.ts';

/**
 * Inserts `messages` into every conversation without any, and the statistics that autovacuum would
 * make within a minute. Without them, Postgres plans every statement for an empty table.
 */
export async function seedHistory({ database }: BenchDatabase, messages: number): Promise<void> {
  await sql`
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body,
      sender_id, author_id, client_message_id)
    SELECT 'msg_' || c.id || lpad(n::text, 6, '0'), c.account_id, c.id, n, 'chat', 'sent', 'internal', 'Hello',
      a.actor_id, a.actor_id, 'history-' || n
    FROM conversations c
      JOIN (SELECT DISTINCT ON (account_id) account_id, actor_id FROM api_keys ORDER BY account_id, id) a
        USING (account_id),
      generate_series(1, ${messages}::integer) n
    WHERE NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id)`.execute(database.kysely);
  await sql`ANALYZE`.execute(database.kysely);
}
