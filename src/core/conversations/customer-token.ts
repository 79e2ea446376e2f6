import { notFound } from '../../contract/protocol/errors.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { TokenSubject } from '../../platform/access/tokens.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { audit } from '../audit/audit.ts';
import { requireWriter } from './access.ts';
import { lockConversationAsMember } from './locked-conversation.ts';
import { findMember } from './participants.ts';

/**
 * Returns the customer that a token is for (docs/contract.md#tokens), and audits the request.
 * Throws `resource_not_found` (param participant_id) for a participant that is not a customer.
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
