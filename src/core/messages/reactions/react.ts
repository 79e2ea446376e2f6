import { toEmoji } from '../../../contract/protocol/emoji.ts';
import { ApiError } from '../../../contract/protocol/errors.ts';
import { type MessageReactions, REACTION_LIMITS } from '../../../contract/protocol/resources/reaction.ts';
import { hasPermission } from '../../../platform/access/authorize.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { requireUnblocked } from '../../conversations/access.ts';
import type { ConversationFacts } from '../../conversations/directory.ts';
import { type MessageRow, visibleToCustomers } from '../../resources/message.ts';
import { readReactions } from '../../resources/reaction.ts';
import type { Readable } from '../reading/readable-message.ts';
import { deleteReaction, insertReaction, lockReactions, readStanding } from './reaction-store.ts';

/** Reacts as the caller; a second time changes nothing. Throws ApiError. */
export async function react(
  tx: Tx,
  principal: Principal,
  { row, facts }: Readable,
  text: string,
): Promise<MessageReactions> {
  const emoji = checkReaction(principal, row, facts, text);
  requireUnblocked(principal, facts);
  if ((await lockReactions(tx, row)) === undefined) throw messageGone();
  const key = { messageId: row.id, emoji, actorId: principal.actor.id };
  const { kinds, is_known, is_own } = await readStanding(tx, key);
  if (!is_known && kinds >= REACTION_LIMITS.kinds) throw tooManyKinds(kinds);
  if (!is_own) {
    await insertReaction(tx, key, { conversationId: row.conversation_id, customer: principal.customer });
  }
  return shown(tx, principal, row);
}

/** Takes the caller's reaction back; where there is none, nothing changes. Throws ApiError. */
export async function unreact(
  tx: Tx,
  principal: Principal,
  { row, facts }: Readable,
  text: string,
): Promise<MessageReactions> {
  const emoji = checkReaction(principal, row, facts, text);
  if ((await lockReactions(tx, row)) === undefined) throw messageGone();
  const key = { messageId: row.id, emoji, actorId: principal.actor.id };
  const { is_own } = await readStanding(tx, key);
  if (is_own) await deleteReaction(tx, key, row.conversation_id);
  return shown(tx, principal, row);
}

/** Throws ApiError `parameter_invalid` (param emoji). */
export function requireEmoji(text: string): string {
  const emoji = toEmoji(text);
  if (emoji !== undefined) return emoji;
  const message = 'Must be exactly one emoji, percent-encoded, such as %F0%9F%91%8D.';
  throw new ApiError('parameter_invalid', message, { param: 'emoji' });
}

/**
 * Returns the emoji if the caller may react to this message with it (docs/contract.md#reactions):
 * what was sent, to all that may post in the conversation. Customers see reactions to what they
 * see, so an agent needs the right to send to them.
 */
function checkReaction(
  principal: Principal,
  row: MessageRow,
  facts: ConversationFacts,
  text: string,
): string {
  const emoji = requireEmoji(text);
  if (facts.members.get(principal.actor.id)?.role === 'viewer') {
    throw new ApiError('insufficient_permissions', 'Viewers of a conversation cannot react.');
  }
  if (row.deleted_at !== null) throw messageGone();
  if (row.status !== 'sent') {
    throw new ApiError(
      'resource_conflict',
      `A message that is ${row.status} has no reactions. Only sent ones have.`,
    );
  }
  const isSeenOutside = visibleToCustomers(row, facts.audience);
  if (
    principal.actor.type === 'agent' &&
    isSeenOutside &&
    !hasPermission(principal, 'messaging:send_external')
  ) {
    throw new ApiError(
      'insufficient_permissions',
      'An agent needs messaging:send_external to react to what customers read.',
    );
  }
  return emoji;
}

async function shown(tx: Tx, principal: Principal, { id }: MessageRow): Promise<MessageReactions> {
  const reactions = await readReactions(tx, principal, [id]);
  return { object: 'message_reactions', message_id: id, reactions: reactions.get(id) ?? [] };
}

function messageGone(): ApiError {
  return new ApiError('resource_gone', 'The message was deleted.', { param: 'id' });
}

function tooManyKinds(used: number): ApiError {
  const limit = REACTION_LIMITS.kinds;
  return new ApiError('limit_exceeded', `A message can have ${limit} different emojis. Use one of them.`, {
    param: 'emoji',
    quota: { limit, used, reset_at: null },
  });
}
