import type { Channel } from '../../contract/protocol/resources/chat-message.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import type { ConversationFacts } from './directory.ts';

/**
 * Returns whether the conversation is a case with an inbox: e-mail to the inbox becomes messages of
 * the case, and replies can be sent as e-mail.
 */
export function isBridged({ audience, inboxId }: Pick<ConversationFacts, 'audience' | 'inboxId'>): boolean {
  return audience === 'customer' && inboxId !== null;
}

/** How a reply to the customer travels unless it states a channel. */
export function replyChannel(facts: Pick<ConversationFacts, 'audience' | 'inboxId'>): Channel {
  return isBridged(facts) ? 'email' : 'message';
}

/** Inserts what the next mail of a bridged case begins with. */
export async function openMailThread(
  tx: Tx,
  { id, account_id }: Pick<ConversationRow, 'id' | 'account_id'>,
): Promise<void> {
  await tx.kysely.insertInto('mail_threads').values({ conversation_id: id, account_id }).execute();
}
