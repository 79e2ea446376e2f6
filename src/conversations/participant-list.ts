import type { Principal } from '../access/principal.ts';
import type { Db } from '../db/handle.ts';
import type { Statement } from '../db/statement.ts';
import type { Stretch } from '../db/stretch.ts';
import type { ShownParticipant } from '../resources/participant.ts';

export interface ListedParticipant extends ShownParticipant {
  readonly created_at: string;
}

/**
 * Returns the active participants of a conversation, including those that have hidden it: in the order in which they
 * were added in the direction `next`, else in reverse. A customer sees only itself.
 */
export function readParticipants(
  db: Db,
  { customer, actor }: Principal,
  conversationId: string,
  { direction, after, fetch }: Stretch,
): Promise<ListedParticipant[]> {
  return db.query(
    STATEMENTS[direction][after === null ? 'edge' : 'behind'],
    conversationId,
    customer ? actor.id : null,
    fetch,
    ...(after ?? []),
  );
}

type Params = [conversationId: string, actorId: string | null, fetch: number, ...after: (string | number)[]];

const STATEMENTS = {
  next: statementsOf('next', '>', 'p.created_at, p.id'),
  previous: statementsOf('previous', '<', 'p.created_at DESC, p.id DESC'),
} as const;

function statementsOf(direction: Stretch['direction'], comparison: '<' | '>', order: string) {
  const statement = (place: string, from: string): Statement<Params, ListedParticipant> => ({
    name: `list-participants-${direction}-${place}`,
    text: `
    SELECT p.id, p.actor_id, p.type, p.role, p.membership, p.notifications, p.agent_trigger_policy,
      p.agent_trigger_keywords, p.created_at
    FROM participants p
    WHERE p.conversation_id = $1 AND p.membership IN ('active', 'hidden')
      AND ($2::text IS NULL OR p.actor_id = $2) ${from}
    ORDER BY ${order} LIMIT $3`,
  });
  return {
    edge: statement('edge', ''),
    behind: statement('behind', `AND (p.created_at, p.id) ${comparison} ($4::timestamptz, $5)`),
  };
}
