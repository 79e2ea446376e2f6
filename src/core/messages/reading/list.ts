import type { Database } from '../../../platform/db/connection/database.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import { withLargeJson } from '../../resources/large-bodies.ts';
import type { TimelineRow } from '../../resources/message.ts';
import type { Timeline } from '../timeline/timeline.ts';
import {
  readSent,
  readSentKeys,
  SETTLE_WINDOW,
  type TimelineKey,
  type TimelineRange,
  type TimelineSlice,
} from '../timeline/timeline-store.ts';

export interface TimelineReads {
  readonly database: Database;
  readonly timeline: Pick<Timeline, 'settle'>;
}

/**
 * Returns sent messages in the requested order, as many as fit on a page and one more. The result
 * ends before an unsettled number, so no message appears later between two returned ones. Takes one
 * statement, unless numbers are missing between the rows: voids, messages that the reader may not
 * see, or holes.
 */
export async function readTimeline(
  reads: TimelineReads,
  range: TimelineRange,
): Promise<readonly TimelineRow[]> {
  return withLargeJson(reads.database, await readSettled(reads, range, readSent));
}

/** Returns keys as `readTimeline` does rows. */
export function readTimelineKeys(
  reads: TimelineReads,
  range: TimelineRange,
  viewerId: string,
): Promise<TimelineKey[]> {
  return readSettled(reads, range, (db, within) => readSentKeys(db, within, viewerId));
}

async function readSettled<Item extends { readonly sequence: number | null }>(
  { database, timeline }: TimelineReads,
  range: TimelineRange,
  read: (db: Querier, range: TimelineRange) => Promise<TimelineSlice<Item>>,
): Promise<Item[]> {
  // Messages that customers may see can be far apart.
  const { items, head, purged } = await read(range.forCustomer ? database : database.reader, range);
  if (items.length === 0) return items;
  const { after, upTo } = seenBy(range, items, head, purged);
  if (items.length === upTo - after || upTo <= head - SETTLE_WINDOW) return items;
  await timeline.settle({ conversationId: range.conversationId, after, upTo });
  // A hole may have become a message since the first read; nothing beyond the settled range is
  // added.
  return (await read(database, { ...range, before: upTo + 1 })).items;
}

/** Returns the covered range: up to the last row of a full page, otherwise the whole range. */
function seenBy(
  { after, before, order, limit }: TimelineRange,
  items: readonly { readonly sequence: number | null }[],
  head: number,
  purged: number,
) {
  const begin = Math.max(after, purged);
  const upTo = Math.min(before - 1, head);
  if (items.length < limit) return { after: begin, upTo };
  const edge = items.at(-1)!.sequence!;
  return order === 'oldest_first' ? { after: begin, upTo: edge } : { after: edge - 1, upTo };
}
