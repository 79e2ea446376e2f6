import type { Database } from '../db/database.ts';
import type { MessageRow } from '../resources/message.ts';
import type { Timeline } from './timeline.ts';
import { readSent, type TimelineRange } from './timeline-store.ts';

/**
 * Returns sent messages in the requested order. The result ends before an unsettled number, so a message never appears
 * later between two that were returned together.
 */
export async function readTimeline(
  database: Database,
  timeline: Timeline,
  range: TimelineRange,
): Promise<MessageRow[]> {
  const { conversationId, after, order, limit } = range;
  for (;;) {
    const head = await timeline.head(conversationId);
    const before = Math.min(range.before, head + 1);
    const rows = await readSent(database, { ...range, before });
    // A full page covers the range up to its last row, a shorter one the whole range.
    const edge = rows.length === limit ? rows.at(-1)?.sequence : undefined;
    const seen =
      order === 'oldest_first'
        ? { after, upTo: edge ?? before - 1 }
        : { after: edge ?? after, upTo: before - 1 };
    if (!(await timeline.settle({ conversationId, ...seen }))) return rows;
  }
}
