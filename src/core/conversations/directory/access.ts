import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { type Principal, seesWholeAccount } from '../../../api/access/principal.ts';
import { customerBlocked } from '../../resources/actor.ts';
import type { ConversationDirectory, ConversationFacts } from './directory.ts';

/** Returns whether the caller may read the conversation (docs/contract.md#reading-and-sending). */
export function mayRead(principal: Principal, facts: ConversationFacts): boolean {
  return facts.deletedAt === null && isReader(principal, facts);
}

/** Returns whether the conversation was deleted and the caller could read it before. */
export function isGone(principal: Principal, facts: ConversationFacts): boolean {
  return facts.deletedAt !== null && isReader(principal, facts);
}

/** Throws `resource_gone` if the conversation was deleted and the caller could read it before. */
export function requirePresent(
  principal: Principal,
  facts: ConversationFacts | undefined,
  param = 'id',
): void {
  if (facts !== undefined && isGone(principal, facts)) throw conversationGone(param);
}

function isReader(principal: Principal, facts: ConversationFacts): boolean {
  if (facts.accountId !== principal.accountId) return false;
  return seesWholeAccount(principal) || facts.members.has(principal.actor.id);
}

/**
 * Returns the conversation if the caller may read it. Otherwise throws `resource_gone` if it was
 * deleted, or `resource_not_found`, which does not tell another account's conversation from none.
 */
export async function readableConversation(
  directory: ConversationDirectory,
  principal: Principal,
  conversationId: string,
  param = 'id',
): Promise<ConversationFacts> {
  const facts = await directory.facts(conversationId);
  requirePresent(principal, facts, param);
  if (facts === undefined || !mayRead(principal, facts)) throw conversationNotFound(param);
  return facts;
}

/** Throws `insufficient_permissions` for viewers and for blocked actors. */
export function requireSender(principal: Principal, facts: ConversationFacts): void {
  if (facts.members.get(principal.actor.id)?.role === 'viewer') {
    throw forbidden('Viewers of a conversation cannot send to it.');
  }
  requireUnblocked(principal, facts);
}

/** Throws for blocked actors: they show their blockers nothing new (docs/contract.md#blocks). */
export function requireUnblocked(principal: Principal, facts: ConversationFacts): void {
  if (facts.members.get(principal.actor.id)?.blocked) throw customerBlocked();
  if (facts.isBlocked) throw directBlocked();
}

/** Returns the refusal if one of two users has blocked the other (docs/contract.md#blocks). */
export function directBlocked(): ApiError {
  return forbidden('One of the two users has blocked the other, so neither can write to the other.');
}

/** The role of the caller's own row in a conversation; undefined if it is not a participant. */
type OwnRole = { readonly role: Participant['role'] } | undefined;

/** Throws for viewers: they only read (docs/contract.md#reading-and-sending). */
export function requireWriter(own: OwnRole): void {
  if (own?.role === 'viewer') throw forbidden('Viewers of a conversation cannot change it.');
}

/** Requires an owner, admin or whole-account access: to rename, archive, add and remove. */
export function requireManager(principal: Principal, own: OwnRole): void {
  if (isOwner(principal, own) || own?.role === 'admin') return;
  throw forbidden('Only owners and admins of the conversation can do this.');
}

/** Requires an owner: to delete, to restore, and to change the roles of owners and admins. */
export function requireOwner(principal: Principal, own: OwnRole): void {
  if (!isOwner(principal, own)) throw forbidden('Only owners of the conversation can do this.');
}

export function isOwner(principal: Principal, own: OwnRole): boolean {
  return seesWholeAccount(principal) || own?.role === 'owner';
}

function forbidden(message: string): ApiError {
  return new ApiError('insufficient_permissions', message);
}

/** Returns the refusal of a deleted conversation (docs/contract.md#deleting-a-conversation). */
export function conversationGone(param = 'id'): ApiError {
  return new ApiError('resource_gone', 'The conversation was deleted.', { param });
}

export function conversationNotFound(param = 'id'): ApiError {
  return notFound('conversation', param);
}

/**
 * Requires that `conversation_id` of a list names a conversation that the caller may read. Throws
 * ApiError `parameter_invalid`, or `resource_gone` if it was deleted.
 */
export async function requireConversationFilter(
  directory: ConversationDirectory,
  principal: Principal,
  id: string,
): Promise<void> {
  try {
    await readableConversation(directory, principal, id, 'conversation_id');
  } catch (error) {
    if (!(error instanceof ApiError) || error.condition !== 'resource_not_found') throw error;
    const message = 'Must be the id of a conversation that you can read.';
    throw new ApiError('parameter_invalid', message, { param: 'conversation_id' });
  }
}
