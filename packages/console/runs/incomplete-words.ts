import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { texts } from '../texts/texts.ts';

/** The reasons why an agent's answer is not whole. */
export const INCOMPLETE_WORDS: Readonly<Record<NonNullable<ChatMessage['incomplete']>, string>> =
  texts.runs.incomplete;
