import { type Principal, seesWholeAccount } from '../access/principal.ts';
import type { Tx } from '../db/handle.ts';
import { ApiError } from '../protocol/errors.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import type { ParticipantRow } from '../resources/participant.ts';
import { conversationNotFound } from './access.ts';

/** A conversation, and the caller's own row in it if it is a member. */
export interface LockedConversation {
  readonly conversation: ConversationRow;
  readonly own: ParticipantRow | undefined;
}

/**
 * Returns the conversation, locked until the transaction ends: changes of one conversation, its workflow and its
 * participants are made one at a time. Throws `resource_not_found` if the caller may not read it
 * (conversations/access.ts).
 */
export async function lockConversationAsMember(
  tx: Tx,
  principal: Principal,
  conversationId: string,
): Promise<LockedConversation> {
  const conversation = await conversationOf(tx, principal, conversationId).forUpdate().executeTakeFirst();
  return standing(tx, principal, conversation);
}

/**
 * Returns the caller's own row, locked, for changes of its own state alone. Throws `resource_not_found` as above, and
 * `resource_conflict` if the caller reads the conversation without being a participant.
 */
export async function lockOwnParticipant(
  tx: Tx,
  principal: Principal,
  conversationId: string,
): Promise<{ readonly conversation: ConversationRow; readonly own: ParticipantRow }> {
  const found = await conversationOf(tx, principal, conversationId).executeTakeFirst();
  const { conversation, own } = await standing(tx, principal, found);
  if (own === undefined) {
    throw new ApiError('resource_conflict', 'You are not a participant of this conversation.');
  }
  return { conversation, own };
}

function conversationOf(tx: Tx, { accountId }: Principal, id: string) {
  return tx.kysely
    .selectFrom('conversations')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId);
}

async function standing(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow | undefined,
): Promise<LockedConversation> {
  if (conversation === undefined) throw conversationNotFound();
  const own = await tx.kysely
    .selectFrom('participants')
    .selectAll()
    .where('conversation_id', '=', conversation.id)
    .where('actor_id', '=', principal.actor.id)
    .where('membership', 'in', ['active', 'hidden'])
    .forUpdate()
    .executeTakeFirst();
  if (own === undefined && !seesWholeAccount(principal)) throw conversationNotFound();
  return { conversation, own };
}
