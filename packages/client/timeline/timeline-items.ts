import type { TimelineMessage } from '../conversation/view/timeline.ts';
import { authorIdOf } from './author.ts';
import { firstUnread } from './unread.ts';

/** A line of a timeline: the beginning of a day, that of what is unread, or a message. */
export type TimelineItem =
  | { readonly type: 'day'; readonly key: string; readonly at: string }
  | { readonly type: 'unread'; readonly key: string }
  | MessageItem;

/** A message of a timeline. */
export interface MessageItem {
  /** Tells it from a day and the unread line. */
  readonly type: 'message';
  /** The same as `message.key`. */
  readonly key: string;
  /** The message. */
  readonly message: TimelineMessage;
  /** Whether it goes on from the message above it, so that it needs no name and no picture. */
  readonly continues: boolean;
}

export interface ItemsInput {
  readonly messages: readonly TimelineMessage[];
  /** The messages from the first to before the second index are shown; all by default. */
  readonly shown?: readonly [from: number, to: number];
  /** The number of the last message above the unread line; null for no line. */
  readonly line: number | null;
  readonly ownId: string;
  /** The time zone of days (IANA); that of the platform by default. */
  readonly timeZone?: string | undefined;
  /** Returns whether two messages of one author look alike. */
  readonly isAlike?: (above: TimelineMessage, message: TimelineMessage) => boolean;
}

/** Returns the lines of a part of a timeline. */
export function itemsOf(input: ItemsInput): TimelineItem[] {
  const { messages, line, ownId, timeZone, isAlike = () => true } = input;
  const [from, to] = input.shown ?? [0, messages.length];
  const lineAt = line === null ? -1 : firstUnread(messages, line, ownId);
  const dayOf = daysIn(timeZone);
  const items: TimelineItem[] = [];
  for (let index = from; index < to; index++) {
    const message = messages[index]!;
    const above = messages[index - 1];
    const beginsDay = above === undefined || dayOf(above.created_at) !== dayOf(message.created_at);
    const { key } = message;
    if (beginsDay || index === from) items.push({ type: 'day', key: `day ${key}`, at: message.created_at });
    const isLine = index === lineAt;
    if (isLine) items.push({ type: 'unread', key: 'unread' });
    const continues = !beginsDay && !isLine && goesOn(above, message) && isAlike(above, message);
    items.push({ type: 'message', key, message, continues });
  }
  return items;
}

/** Returns whether messages stand together: of one author, within minutes. */
function goesOn(above: TimelineMessage, message: TimelineMessage): boolean {
  if (above.deleted_at !== null || message.deleted_at !== null) return false;
  if (message.reply_to_id !== null && message.reply_to_id !== above.reply_to_id) return false;
  return (
    authorIdOf(above) === authorIdOf(message) &&
    above.sender?.id === message.sender?.id &&
    Date.parse(message.created_at) - Date.parse(above.created_at) < TOGETHER_MS
  );
}

const TOGETHER_MS = 5 * 60_000;

/** Returns a function that names the day of a time. */
function daysIn(timeZone: string | undefined): (at: string) => string {
  if (timeZone === undefined) return (at) => new Date(at).toDateString();
  const format = new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'short' });
  return (at) => format.format(new Date(at));
}
