import type { TimelineMessage } from '@parley/client';
import { isSameDay } from '@parley/ui/text/time.ts';
import { authorIdOf, lookOf } from '../message/message-look.ts';

/** A line of the timeline. */
export type TimelineRow =
  | { readonly type: 'day'; readonly key: string; readonly at: string }
  | { readonly type: 'unread'; readonly key: string }
  | MessageLine;

interface MessageLine {
  readonly type: 'message';
  readonly key: string;
  readonly message: TimelineMessage;
  /** Whether it goes on from the message above it, without name and picture. */
  readonly continues: boolean;
  /** Ids of actors that have read up to this message, with spaces between. */
  readonly readers: string;
}

export interface RowsInput {
  readonly messages: readonly TimelineMessage[];
  /** The messages from the first to before the second index are shown. */
  readonly shown: readonly [from: number, to: number];
  /** The number of the last message above the unread line; null for no line. */
  readonly line: number | null;
  readonly ownId: string;
  readonly customerIds: ReadonlySet<string> | null;
  /** The read positions of others, by the ids of actors. */
  readonly reads: ReadonlyMap<string, { readonly sequence: number }>;
  /** Whether the newest message is shown, under which the readers of everything stand. */
  readonly isNewest: boolean;
}

/** Returns the lines of a part of the timeline: messages, days, and the unread line. */
export function rowsOf({ messages, shown: [from, to], line, ...input }: RowsInput): TimelineRow[] {
  const { ownId, customerIds } = input;
  const readers = readersOf(messages, [from, to], input);
  const rows: TimelineRow[] = [];
  const lineAt = line === null ? -1 : firstUnread(messages, line, ownId);
  for (let index = from; index < to; index++) {
    const message = messages[index]!;
    const above = messages[index - 1];
    const beginsDay = above === undefined || !isSameDay(above.created_at, message.created_at);
    if (beginsDay || index === from) {
      rows.push({ type: 'day', key: `day ${message.key}`, at: message.created_at });
    }
    const isLine = index === lineAt;
    if (isLine) rows.push({ type: 'unread', key: 'unread' });
    const continues = !beginsDay && !isLine && goesOn(above, message, customerIds);
    const { key } = message;
    rows.push({ type: 'message', key, message, continues, readers: readers.get(index)?.join(' ') ?? '' });
  }
  return rows;
}

/** Returns the index of the first message of another person behind a number, or -1. */
export function firstUnread(messages: readonly TimelineMessage[], line: number, ownId: string): number {
  return messages.findIndex(
    (message) =>
      message.sequence !== null &&
      message.sequence > line &&
      message.deleted_at === null &&
      authorIdOf(message) !== ownId,
  );
}

/** Returns whether messages stand together: of one author, within minutes. */
function goesOn(
  above: TimelineMessage | undefined,
  message: TimelineMessage,
  customerIds: ReadonlySet<string> | null,
): boolean {
  if (above === undefined || above.deleted_at !== null || message.deleted_at !== null) return false;
  if (message.reply_to_id !== null && message.reply_to_id !== above.reply_to_id) return false;
  const look = lookOf(message, customerIds);
  return (
    look !== 'service' &&
    look === lookOf(above, customerIds) &&
    authorIdOf(above) === authorIdOf(message) &&
    above.sender?.id === message.sender?.id &&
    Date.parse(message.created_at) - Date.parse(above.created_at) < TOGETHER_MS
  );
}

const TOGETHER_MS = 5 * 60_000;

/** Returns the readers by the index of the last message that each has read. */
function readersOf(
  messages: readonly TimelineMessage[],
  [from, to]: readonly [number, number],
  { reads, ownId, isNewest }: Pick<RowsInput, 'reads' | 'ownId' | 'isNewest'>,
): Map<number, string[]> {
  const readers = new Map<number, string[]>();
  const first = messages[from]?.sequence ?? Infinity;
  let last = to - 1;
  while (last >= from && messages[last]!.sequence === null) last -= 1;
  for (const [id, { sequence }] of reads) {
    if (id === ownId || sequence < first) continue;
    let index = last;
    while (index >= from && messages[index]!.sequence! > sequence) index -= 1;
    if (index === last && !isNewest) continue;
    // An author is no reader of the own message, but of the one above.
    while (index >= from && authorIdOf(messages[index]!) === id) index -= 1;
    if (index < from) continue;
    readers.set(index, [...(readers.get(index) ?? []), id]);
  }
  return readers;
}
