/** Returns the path of a message, or of one of its actions or lists. */
export function messagePath(messageId: string, rest = ''): string {
  return `/v1/messaging/messages/${encodeURIComponent(messageId)}${rest}`;
}

/** Has answers show of a message what events show. */
export const WHOLE = '?include[]=sender&include[]=attachments';
