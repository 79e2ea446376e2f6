import type { TimelineMessage } from '../conversation/view/timeline.ts';
import { authorIdOf } from './author.ts';

/** Returns the index of the first message of another person behind a number, or -1. */
export function firstUnread(messages: readonly TimelineMessage[], line: number, ownId: string): number {
  return messages.findIndex((message) => isNews(message, line, ownId));
}

/** Returns how many messages of others stand behind a number. */
export function newSince(messages: readonly TimelineMessage[], seen: number, ownId: string): number {
  return messages.filter((message) => isNews(message, seen, ownId)).length;
}

/** Returns the number of the newest message that the server has; 0 for none. */
export function lastSent(messages: readonly TimelineMessage[]): number {
  return messages.reduce((last, { sequence }) => sequence ?? last, 0);
}

function isNews(message: TimelineMessage, after: number, ownId: string): boolean {
  return (
    message.sequence !== null &&
    message.sequence > after &&
    message.deleted_at === null &&
    authorIdOf(message) !== ownId
  );
}
