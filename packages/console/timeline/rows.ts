import type { TimelineMessage } from '@parley/client';
import { authorIdOf } from '@parley/client/timeline/author.ts';
import { itemsOf, type MessageItem, type TimelineItem } from '@parley/client/timeline/timeline-items.ts';
import { lookOf } from '../message/message-look.ts';

/** A line of the timeline. */
export type TimelineRow = Exclude<TimelineItem, MessageItem> | MessageLine;

interface MessageLine extends MessageItem {
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
export function rowsOf({ messages, shown, line, customerIds, ...input }: RowsInput): TimelineRow[] {
  const readers = readersOf(messages, shown, input);
  const isAlike = (above: TimelineMessage, message: TimelineMessage) => {
    const look = lookOf(message, customerIds);
    return look !== 'service' && look === lookOf(above, customerIds);
  };
  const items = itemsOf({ messages, shown, line, ownId: input.ownId, isAlike });
  return items.map((item) =>
    item.type === 'message' ? { ...item, readers: readers.get(item.key)?.join(' ') ?? '' } : item,
  );
}

/** Returns the readers by the key of the last message that each has read. */
function readersOf(
  messages: readonly TimelineMessage[],
  [from, to]: readonly [number, number],
  { reads, ownId, isNewest }: Pick<RowsInput, 'reads' | 'ownId' | 'isNewest'>,
): Map<string, string[]> {
  const readers = new Map<string, string[]>();
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
    const { key } = messages[index]!;
    readers.set(key, [...(readers.get(key) ?? []), id]);
  }
  return readers;
}
