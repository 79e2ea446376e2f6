import type { ConversationFacts } from './directory.ts';

/**
 * Returns whether the conversation is a case with an inbox: e-mail to the inbox becomes messages of the case, and
 * replies can be sent as e-mail. No inbox can be connected yet, so no case is bridged.
 */
export function isBridged(_facts: Pick<ConversationFacts, 'id' | 'audience'>): boolean {
  return false;
}
