import type { TimelineMessage } from '../conversation/view/timeline.ts';

/** Returns the id of the actor behind a message; null for messages of the service. */
export function authorIdOf(message: TimelineMessage): string | null {
  const sender = message.sender?.id ?? null;
  return message.id === null ? sender : (message.author_id ?? message.sender_id ?? sender);
}
