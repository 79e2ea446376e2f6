import type { Principal } from '../access/principal.ts';
import type { TokenSubject } from '../access/tokens.ts';
import type { Tx } from '../db/handle.ts';
import { notFound } from '../protocol/errors.ts';
import { requireWriter } from './access.ts';
import { audit } from './audit.ts';
import { lockConversationAsMember } from './locked-conversation.ts';
import { findMember } from './participants.ts';

/**
 * Whom a customer's token is for (docs/contract.md#tokens), and that it was asked for is kept. Throws
 * `resource_not_found` (param participant_id) for any participant that is no customer.
 */
export async function requireCustomer(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  participantId: string,
): Promise<TokenSubject> {
  const { own } = await lockConversationAsMember(tx, principal, conversationId);
  requireWriter(own);
  const { type, actor_id: actorId } = await findMember(tx, conversationId, participantId);
  if (type !== 'customer' || actorId === null) {
    throw notFound('participant', 'participant_id');
  }
  const { accountId } = principal;
  await audit(tx, {
    accountId,
    conversationId,
    actorId: principal.actor.id,
    action: 'customer_token.issued',
    details: { participant_id: participantId, actor_id: actorId },
  });
  return { accountId, actorId };
}
