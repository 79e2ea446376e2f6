import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Engine } from '../../frames/engine.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import type { MessageRow } from '../../resources/message.ts';
import { publishRead } from './own-state.ts';

/**
 * Moves the read position of the actor that made a change over the message about it, so that
 * nothing becomes unread by one's own act. No-op while something before the message is unread, and
 * when called again.
 */
export async function readOwnAct(
  { database, engine }: { readonly database: Database; readonly engine: Engine },
  { conversation_id: conversationId, sequence }: Pick<MessageRow, 'conversation_id' | 'sequence'>,
  actorId: string,
): Promise<void> {
  if (sequence === null) return;
  const [moved] = await database.query(READ_OWN_ACT, conversationId, actorId, sequence);
  if (moved !== undefined) {
    publishRead(engine, conversationId, { id: actorId, external_id: moved.external_id }, sequence, moved.at);
  }
}

const READ_OWN_ACT = statement<
  [conversationId: string, actorId: string, sequence: number],
  { at: string; external_id: string | null }
>('read-own-act')`
    UPDATE participants p SET read_sequence = $3::bigint
    WHERE p.conversation_id = $1 AND p.actor_id = $2 AND p.${IS_MEMBER} AND p.read_sequence < $3::bigint
      AND NOT EXISTS (
        SELECT FROM messages m
        WHERE m.conversation_id = $1 AND m.sequence > p.read_sequence AND m.sequence < $3::bigint
          AND m.status = 'sent' AND m.deleted_at IS NULL AND m.imported IS NULL AND m.author_id IS DISTINCT FROM $2
          AND (p.type <> 'customer' OR m.visibility <> 'internal')
      )
    RETURNING clock_timestamp() AS at, (SELECT a.external_id FROM actors a WHERE a.id = p.actor_id) AS external_id`;
