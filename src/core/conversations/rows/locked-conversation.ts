import { ApiError } from '@parley/protocol/errors/errors.ts';
import { type Principal, seesWholeAccount } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import type { ParticipantRow } from '../../resources/participant.ts';
import { conversationGone, conversationNotFound } from '../directory/access.ts';
import { findConversation, lockConversationOf } from './conversation-store.ts';
import { membersOf } from './participant-store.ts';

/** A conversation, and the caller's own row in it, or undefined if it is not a member. */
export interface LockedConversation {
  readonly conversation: ConversationRow;
  readonly own: ParticipantRow | undefined;
}

/**
 * Returns the conversation, locked until the transaction ends: changes of it, its workflow and its
 * participants are made one at a time. Throws `resource_not_found` if the caller may not read it
 * (core/conversations/directory/access.ts), `resource_gone` if it was deleted.
 */
export async function lockConversationAsMember(
  tx: Tx,
  principal: Principal,
  conversationId: string,
): Promise<LockedConversation> {
  const locked = await lockAlsoDeleted(tx, principal, conversationId);
  requireThere(locked.conversation);
  return locked;
}

/** Like `lockConversationAsMember`, but does not throw for a deleted conversation. */
export async function lockAlsoDeleted(
  tx: Tx,
  principal: Principal,
  conversationId: string,
): Promise<LockedConversation> {
  const conversation = await lockConversationOf(tx, principal.accountId, conversationId);
  return standing(tx, principal, conversation);
}

/**
 * Returns the caller's own row, locked, for changes of its own state. Throws like
 * `lockConversationAsMember`, and `resource_conflict` if the caller is no participant.
 */
export async function lockOwnParticipant(
  tx: Tx,
  principal: Principal,
  conversationId: string,
): Promise<{ readonly conversation: ConversationRow; readonly own: ParticipantRow }> {
  const found = await findConversation(tx, principal.accountId, conversationId);
  const { conversation, own } = await standing(tx, principal, found);
  requireThere(conversation);
  if (own === undefined) {
    throw new ApiError('resource_conflict', 'You are not a participant of this conversation.');
  }
  return { conversation, own };
}

function requireThere({ deleted_at }: ConversationRow): void {
  if (deleted_at !== null) throw conversationGone();
}

async function standing(
  tx: Tx,
  principal: Principal,
  conversation: ConversationRow | undefined,
): Promise<LockedConversation> {
  if (conversation === undefined) throw conversationNotFound();
  const own = await membersOf(tx, conversation.id)
    .where('actor_id', '=', principal.actor.id)
    .forUpdate()
    .executeTakeFirst();
  if (own === undefined && !seesWholeAccount(principal)) throw conversationNotFound();
  return { conversation, own };
}
