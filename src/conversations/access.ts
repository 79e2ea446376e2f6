import { type Principal, seesWholeAccount } from '../access/principal.ts';
import { ApiError } from '../protocol/errors.ts';
import type { ConversationDirectory, ConversationFacts } from './directory.ts';

/** Who reads a conversation (design.md section 7, "who reads and sends"). */
export function mayRead(principal: Principal, facts: ConversationFacts): boolean {
  if (facts.accountId !== principal.accountId) return false;
  return seesWholeAccount(principal) || facts.members.has(principal.actor.id);
}

/**
 * The conversation, if the caller may read it. Otherwise `resource_not_found`: another account's and
 * an absent conversation answer alike.
 */
export async function readableConversation(
  directory: ConversationDirectory,
  principal: Principal,
  conversationId: string,
): Promise<ConversationFacts> {
  const facts = await directory.facts(conversationId);
  if (facts === undefined || !mayRead(principal, facts)) throw conversationNotFound();
  return facts;
}

/** Viewers read only: a send of theirs is `insufficient_permissions`. */
export function requireSender(principal: Principal, facts: ConversationFacts): void {
  if (facts.members.get(principal.actor.id)?.role === 'viewer') {
    throw new ApiError('insufficient_permissions', 'viewers of this conversation cannot send to it');
  }
}

export function conversationNotFound(): ApiError {
  return new ApiError('resource_not_found', 'no such conversation', { param: 'id' });
}
