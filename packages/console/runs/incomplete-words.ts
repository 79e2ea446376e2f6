import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';

/** The reasons why an agent's answer is not whole. */
export const INCOMPLETE_WORDS: Readonly<Record<NonNullable<ChatMessage['incomplete']>, string>> = {
  length: 'The answer was too long and was cut off.',
  content_filter: 'The provider of the model withheld the rest of the answer.',
  error: 'The answer broke off before its end.',
};
