import type { PersonMove } from '../../core/resources/holdings.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/** Indexes a customer's messages and the names of its cases again, under another customer. */
export async function moveEntries(tx: Tx, { to, conversationIds }: PersonMove): Promise<void> {
  if (conversationIds.length > 0) await tx.query(NOTE, to, conversationIds);
}

const NOTE = statement<[author: string, conversationIds: readonly string[]]>('note-moved-for-search')`
    WITH moved AS (
      SELECT m.id, m.conversation_id FROM messages m WHERE m.conversation_id = ANY($2) AND m.sequence IS NOT NULL
        AND $1 IN (m.author_id, m.sender_id)
    ), gone AS (DELETE FROM search_entries e USING moved m WHERE e.id = m.id)
    SELECT add_search_notes(array_agg(id) || $2, array_agg(conversation_id) || $2) FROM moved`;
