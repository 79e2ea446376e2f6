import type { Channel } from '@parley/protocol/resources/chat-message.ts';
import type { ConversationFacts } from './directory.ts';

/**
 * Returns whether the conversation is a case with an inbox. Mail to the inbox becomes messages of
 * the case, and replies can be sent as mail.
 */
export function isBridged({ audience, mailboxId }: BridgeFacts): boolean {
  return audience === 'customer' && mailboxId !== null;
}

type BridgeFacts = Pick<ConversationFacts, 'audience' | 'mailboxId'>;

/** Returns the channel of a reply to the customer that states none. */
export function replyChannel(facts: BridgeFacts): Channel {
  return isBridged(facts) ? 'email' : 'message';
}
