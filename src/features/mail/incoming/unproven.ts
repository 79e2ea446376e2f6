import { findCustomer, writeActor } from '../../../core/accounts/actors/actors.ts';
import { enqueueActorChanged, enqueueRightsChanged } from '../../../core/accounts/rights/rights-changed.ts';
import { audit } from '../../../core/audit/audit.ts';
import { lockConversation } from '../../../core/conversations/rows/conversation-store.ts';
import { addParticipant } from '../../../core/conversations/rows/participant-store.ts';
import { enqueueChanged } from '../../../core/events/changes.ts';
import type { ConversationRow } from '../../../core/resources/conversation.ts';
import { IS_MEMBER, isMember } from '../../../core/resources/membership.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { readSenders, type SenderInCase } from './incoming-store.ts';
import type { NamedPerson } from './named-person.ts';

/** Returns the end of the name of an unproven customer. */
export function unprovenSuffix({ header }: Pick<NamedPerson, 'header'>): string {
  return ` (by ${header}, unproven)`;
}

const SUFFIX = / \(by (Reply-To|X-Original-From), unproven\)$/;

/**
 * Returns the customer of the first of these cases that mails from `sender` have named by this
 * address alone, unproven so far. `sender` is null for any sender.
 */
export async function findUnproven(
  tx: Tx,
  cases: readonly string[],
  address: string,
  sender: string | null,
): Promise<SenderInCase | undefined> {
  if (cases.length === 0) return undefined;
  const [found] = await tx.query(FIND_UNPROVEN, cases, address, sender);
  return found;
}

/**
 * Proves the address of an answer that comes from it, in the first of these cases where it was
 * unproven so far; a mail of ours that the answer names must name the cases. The unproven customer
 * gets the address; a customer that has it takes part in the case from now on. Returns this
 * customer, or undefined if the address was unproven in none, or if the team has removed the
 * customer.
 */
export async function proveSender(
  tx: Tx,
  cases: readonly string[],
  accountId: string,
  address: string,
): Promise<SenderInCase | undefined> {
  if (cases.length === 0) return undefined;
  const unproven = await findUnproven(tx, cases, address, null);
  if (unproven === undefined) {
    // Another answer may have proven it since the caller looked for the sender.
    const senders = await readSenders(tx, cases, address);
    return senders.find(({ type }) => type === 'customer');
  }
  const { conversation_id: conversationId, actor_id: actorId } = unproven;
  // Before the address is locked, as requests do that add a customer by its address.
  const conversation = await lockConversation(tx, conversationId);
  const known = await findCustomer(tx, { accountId, email: address });
  if (known !== undefined) return joinCase(tx, conversation, known);
  const { name } = await tx.kysely
    .selectFrom('actors')
    .select('name')
    .where('id', '=', actorId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  await writeActor(tx, actorId!, 'customer', { handle: address, name: name?.replace(SUFFIX, '') || address });
  await enqueueActorChanged(tx, actorId!);
  return unproven;
}

async function joinCase(
  tx: Tx,
  conversation: ConversationRow,
  actorId: string,
): Promise<SenderInCase | undefined> {
  const { id } = conversation;
  const before = await tx.kysely
    .selectFrom('participants')
    .selectAll()
    .where('conversation_id', '=', id)
    .where('actor_id', '=', actorId)
    .executeTakeFirst();
  // Another answer has proven it, or the team has removed the customer.
  if (before !== undefined) return isMember(before) ? before : undefined;
  const participant = await addParticipant(tx, conversation, { type: 'customer', actorId });
  await enqueueRightsChanged(tx, [id]);
  await enqueueChanged(tx, [
    { event: 'participant.added', id: participant.id, stream: id },
    { event: 'conversation.added', id, stream: actorId },
  ]);
  const details = { participant_id: participant.id, actor_id: actorId, role: participant.role };
  await audit(tx, {
    accountId: conversation.account_id,
    conversationId: id,
    actorId: null,
    action: 'participant.added',
    details,
  });
  return participant;
}

const FIND_UNPROVEN = statement<
  [conversationIds: readonly string[], address: string, sender: string | null],
  SenderInCase
>('find-unproven-sender-of-mail')`
    SELECT p.conversation_id, p.actor_id, p.type, p.role
    FROM unnest($1::text[]) WITH ORDINALITY AS c(id, place)
      JOIN participants p ON p.conversation_id = c.id AND p.${IS_MEMBER} AND p.type = 'customer'
      JOIN actors a ON a.id = p.actor_id AND a.deactivated_at IS NULL AND a.handle IS NULL
    WHERE EXISTS (
      SELECT FROM mails m
      WHERE m.conversation_id = c.id AND m.direction = 'in' AND m.actor_id = a.id AND m.reason = 'unproven'
        AND lower(m.reply_to) = $2 AND ($3::text IS NULL OR lower(m.from_address) = $3))
    ORDER BY c.place, p.created_at, p.id LIMIT 1`;
