import { previewOf } from '@parley/markdown/message-text.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { texts } from '../texts/texts.ts';

/** The newest message of a conversation, as one line of a list. */
export interface LastMessage {
  /** The person whose name begins the line; null where it needs none. */
  readonly senderId: string | null;
  readonly text: string;
  /** A note to the team, on a case. */
  readonly isNote: boolean;
}

/** Returns null for a conversation without a message. */
export function lastMessageOf(conversation: Conversation, myId: string): LastMessage | null {
  const { last_message: message, type, audience } = conversation;
  if (message === null) return null;
  const { kind, author_id: author = null, sender_id: sender = null, visibility, streaming_state } = message;
  const isOfService = kind === 'system_event' || kind === 'alert';
  const isOwn = (author ?? sender) === myId;
  const text = previewOf(message);
  return {
    senderId: isOfService ? null : isOwn ? myId : type === 'direct_message' ? null : sender,
    text: text !== '' ? text : streaming_state === 'streaming' ? texts.inbox.writing : texts.inbox.sentFile,
    isNote: audience === 'customer' && visibility === 'internal' && !isOfService,
  };
}
