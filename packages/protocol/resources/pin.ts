import { type Static, Type } from 'typebox';
import { describe, Nullable, Timestamp } from '../schema/schema.ts';
import { ChatMessage } from './chat-message.ts';

export const PIN_LIMITS = {
  /** Pinned messages of one conversation. */
  ofConversation: 100,
} as const;

/** Whether a message is pinned in its conversation (docs/contract.md#pins). */
export const Pin = Type.Object({
  object: Type.Literal('pin'),
  message_id: Type.String(),
  pinned_by: Nullable(Type.String()),
  pinned_at: Nullable(Timestamp),
  message: ChatMessage,
});
export type Pin = Static<typeof Pin>;

describe(Pin, {
  pinned_by: 'Id of the actor that pinned it. Null once it is not pinned any more.',
  pinned_at: 'When it was pinned. Null once it is not pinned any more.',
  message: 'The message itself, with the sub-objects that `include[]` names.',
});
