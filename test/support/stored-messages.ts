import pg from 'pg';
import type { Received } from './check-delivery.ts';

/**
 * Returns the sent messages of each of these conversations in Postgres, in order: the reference for
 * every reader.
 */
export async function storedMessages(
  databaseUrl: string,
  conversationIds: readonly string[],
): Promise<Map<string, Received[]>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ conversation_id: string; sequence: string; id: string }>(
      `SELECT conversation_id, sequence, id FROM messages
       WHERE status = 'sent' AND conversation_id = ANY($1) ORDER BY conversation_id, sequence`,
      [conversationIds],
    );
    const stored = new Map<string, Received[]>(conversationIds.map((id) => [id, []]));
    for (const { conversation_id: id, sequence, id: messageId } of rows) {
      stored.get(id)?.push({ sequence: Number(sequence), id: messageId });
    }
    return stored;
  } finally {
    await client.end();
  }
}
