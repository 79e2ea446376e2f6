/** The path of the conversations that the caller may read. */
export const CONVERSATIONS = '/v1/messaging/conversations';

/** Returns the path of a conversation, or of one of its actions or lists. */
export function conversationPath(id: string, rest = ''): string {
  return `${CONVERSATIONS}/${encodeURIComponent(id)}${rest}`;
}

/** Returns the path of a participant, behind that of the conversation. */
export function participantPath(id: string): string {
  return `/participants/${encodeURIComponent(id)}`;
}

/** Returns the path of a message, or of one of its actions or lists. */
export function messagePath(messageId: string, rest = ''): string {
  return `/v1/messaging/messages/${encodeURIComponent(messageId)}${rest}`;
}

/** Makes answers show messages as events do. */
export const WHOLE = '?include[]=sender&include[]=attachments';
