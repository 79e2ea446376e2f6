import { Type } from 'typebox';

/**
 * A message as a part of what messages contain themselves. chat-message.ts, which imports those,
 * adds its fields here, so that none of them imports it.
 */
export interface MentionedMessage {
  readonly object: 'chat_message';
}

/** Its schema: the name of the resource (contract/protocol/mentions.ts). */
export const MentionedMessage = Type.Unsafe<MentionedMessage>({ type: 'object', title: 'chat_message' });
