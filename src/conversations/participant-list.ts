import type { Principal } from '../access/principal.ts';
import type { Db } from '../db/handle.ts';
import { type KeysetPage, keysetList } from '../db/keyset.ts';
import type { ShownParticipant } from '../resources/participant.ts';

export interface ListedParticipant extends ShownParticipant {
  readonly created_at: string;
}

/**
 * Returns the active participants of a conversation, including those that have hidden it, in the order in which they
 * were added. A customer sees only itself.
 */
export function readParticipants(
  db: Db,
  { customer, actor }: Principal,
  conversationId: string,
  page: KeysetPage,
): Promise<ListedParticipant[]> {
  return PARTICIPANTS.readPage(db, [conversationId, customer ? actor.id : null], page);
}

const PARTICIPANTS = keysetList<[conversationId: string, actorId: string | null], ListedParticipant>({
  name: 'list-participants',
  columns: `p.id, p.actor_id, p.type, p.role, p.membership, p.notifications, p.agent_trigger_policy,
      p.agent_trigger_keywords, p.created_at`,
  from: 'participants p',
  where: `p.conversation_id = $1 AND p.membership IN ('active', 'hidden')
      AND ($2::text IS NULL OR p.actor_id = $2)`,
  key: [
    ['p.created_at', 'timestamptz'],
    ['p.id', 'text'],
  ],
  order: 'oldest_first',
});
