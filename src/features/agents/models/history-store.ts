import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { HistoryMessage } from './labelled.ts';

/** Returns the newest complete messages up to this one (null: up to the end), newest first. */
export function readHistory(
  db: Db,
  conversationId: string,
  messageId: string | null,
  limit: number,
): Promise<HistoryMessage[]> {
  return db.query(READ_HISTORY, conversationId, messageId, limit);
}

const READ_HISTORY = statement<
  [conversationId: string, messageId: string | null, limit: number],
  HistoryMessage
>('read-agent-history')`
    SELECT m.id, m.author_id, m.visibility, m.subject, m.body, c.audience,
      coalesce(a.name, a.handle) AS author_name, coalesce(a.customer, false) AS by_customer, f.files
    FROM messages m
    JOIN conversations c ON c.id = m.conversation_id
    LEFT JOIN actors a ON a.id = coalesce(m.author_id, m.sender_id)
    LEFT JOIN LATERAL (
      SELECT json_agg(json_build_object(
        'id', t.id, 'filename', t.filename, 'content_type', t.content_type, 'url', t.url
      ) ORDER BY t.position) AS files
      FROM attachments t WHERE t.message_id = m.id
    ) f ON m.has_attachments
    WHERE m.conversation_id = $1
      AND m.sequence <= coalesce(
        (SELECT t.sequence FROM messages t WHERE t.id = $2 AND t.conversation_id = $1), 9007199254740991
      )
      AND m.status = 'sent' AND m.deleted_at IS NULL AND m.streaming_state IS DISTINCT FROM 'streaming'
    ORDER BY m.sequence DESC LIMIT $3`;
