import type { Database } from '../db/database.ts';
import type { MessageRow } from '../resources/message.ts';
import type { Timeline } from './timeline.ts';
import { readSent, SETTLE_WINDOW, type TimelineRange } from './timeline-store.ts';

/**
 * Returns sent messages in the requested order. The result ends before an unsettled number, so a message never appears
 * later between two that were returned together. One statement, unless numbers are missing between the rows: those are
 * voids, messages that the reader may not see, or holes.
 */
export async function readTimeline(
  database: Database,
  timeline: Pick<Timeline, 'settle'>,
  range: TimelineRange,
): Promise<MessageRow[]> {
  // What customers may see can be far apart.
  const rows = await readSent(range.forCustomer ? database : database.reader, range);
  if (rows.length === 0) return rows;
  const { head } = rows[0]!;
  const { after, upTo } = seenBy(range, rows, head);
  if (rows.length === upTo - after || upTo <= head - SETTLE_WINDOW) return rows;
  await timeline.settle({ conversationId: range.conversationId, after, upTo });
  // A hole may have become a message since the first read; nothing beyond the settled range is added.
  return readSent(database, { ...range, before: upTo + 1 });
}

/** A full page covers the range up to its last row, a shorter one the whole range. */
function seenBy({ after, before, order, limit }: TimelineRange, rows: readonly MessageRow[], head: number) {
  const upTo = Math.min(before - 1, head);
  if (rows.length < limit) return { after, upTo };
  const edge = rows.at(-1)!.sequence!;
  return order === 'oldest_first' ? { after, upTo: edge } : { after: edge - 1, upTo };
}
