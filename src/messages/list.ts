import type { Database } from '../db/database.ts';
import type { Statement } from '../db/statement.ts';
import { type MessageRow, messageColumns } from '../resources/message.ts';
import type { Timeline } from './timeline.ts';

/** A range of a timeline, between two numbers that are excluded. */
export interface TimelineRange {
  readonly conversationId: string;
  readonly after: number;
  readonly before: number;
  readonly order: 'oldest_first' | 'newest_first';
  readonly limit: number;
  /** Excludes what customers may not see. */
  readonly forCustomer: boolean;
}

/**
 * Returns sent messages in the requested order. The result ends before an unsettled number, so a message never appears
 * later between two that were returned together.
 */
export async function readTimeline(
  database: Database,
  timeline: Timeline,
  stretch: TimelineRange,
): Promise<MessageRow[]> {
  const { conversationId, after, order, limit, forCustomer } = stretch;
  for (;;) {
    const head = await timeline.head(conversationId);
    const before = Math.min(stretch.before, head + 1);
    const rows = await database.query(STATEMENTS[order], conversationId, after, before, limit, forCustomer);
    // A full page covers the range up to its last row, a shorter one the whole range.
    const edge = rows.length === limit ? rows.at(-1)?.sequence : undefined;
    const seen =
      order === 'oldest_first'
        ? { after, upTo: edge ?? before - 1 }
        : { after: edge ?? after, upTo: before - 1 };
    if (!(await timeline.settle({ conversationId, ...seen }))) return rows;
  }
}

type Params = [conversationId: string, after: number, before: number, limit: number, forCustomer: boolean];

const STATEMENTS = {
  oldest_first: stretchStatement('oldest', 'm.sequence'),
  newest_first: stretchStatement('newest', 'm.sequence DESC'),
} as const;

function stretchStatement(end: string, order: string): Statement<Params, MessageRow> {
  return {
    name: `read-timeline-${end}`,
    text: `
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.conversation_id = $1 AND m.sequence > $2 AND m.sequence < $3 AND m.status = 'sent'
      AND (NOT $5::boolean OR m.visibility <> 'internal')
    ORDER BY ${order} LIMIT $4`,
  };
}
