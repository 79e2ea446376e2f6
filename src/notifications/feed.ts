import type { Database } from '../db/database.ts';
import type { Statement } from '../db/statement.ts';
import type { NotificationRow } from './store.ts';

/** A notification as a page needs it: what is shown, and with `links` what that points to. */
export type FeedRow = Pick<NotificationRow, (typeof SHOWN)[number]> &
  Partial<Pick<NotificationRow, (typeof LINKS)[number]>>;

/** What a feed can be narrowed to (specification, endpoint 5); without `status`: all but the dismissed. */
export interface FeedFilters {
  readonly status?: string | undefined;
  readonly category?: string | undefined;
  readonly senderIds?: readonly string[] | undefined;
  readonly senderTypes?: readonly string[] | undefined;
  /** Looked for in title and body, case ignored. */
  readonly q?: string | null;
}

/** Which stretch of a feed: from its newer or its older end, behind a notification's time and id if given. */
export interface FeedStretch {
  readonly order: 'newest_first' | 'oldest_first';
  readonly after: readonly (string | number)[] | null;
  readonly limit: number;
  /** Whether the rows carry their links: each column of a page has its price. */
  readonly links: boolean;
}

/** Notifications of one recipient, in the order of the stretch. */
export function readFeed(
  database: Database,
  recipientId: string,
  filters: FeedFilters,
  { order, after, limit, links }: FeedStretch,
): Promise<FeedRow[]> {
  const statement = FEED_STATEMENTS[order][links ? 'linked' : 'bare'][after === null ? 'whole' : 'behind'];
  // Filters may walk over a whole feed before they have a page together; without, it is the index's next rows.
  const queries = isPlain(filters) ? database.reader : database;
  return queries.query<FeedRow>(statement, [
    recipientId,
    filters.status ?? null,
    filters.category ?? null,
    filters.senderIds ?? null,
    filters.senderTypes ?? null,
    filters.q ? `%${escapeLike(filters.q)}%` : null,
    limit,
    ...(after ?? []),
  ]);
}

function isPlain({ status, category, senderIds, senderTypes, q }: FeedFilters): boolean {
  return !(status || category || senderIds || senderTypes || q);
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

const SHOWN = [
  'id',
  'category',
  'title',
  'body',
  'status',
  'priority',
  'seen_at',
  'read_at',
  'dismissed_at',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof NotificationRow)[];

const LINKS = [
  'sender_id',
  'resource_type',
  'resource_id',
] as const satisfies readonly (keyof NotificationRow)[];

// Filters that were not given are null: one statement for all of them keeps its plan, which is the
// feed's index in order.
const CONDITIONS = `
    recipient_id = $1
    AND status <> 'dismissed'
    AND ($2::text IS NULL OR status = $2)
    AND ($3::text IS NULL OR category = $3)
    AND ($4::text[] IS NULL OR sender_id = ANY($4))
    AND ($5::text[] IS NULL OR sender_type = ANY($5))
    AND ($6::text IS NULL OR title ILIKE $6 OR body ILIKE $6)`;

/** The ways through a feed; their parameters are readFeed's. */
export const FEED_STATEMENTS = {
  newest_first: inOrder('newest', '<', 'created_at DESC, id DESC'),
  oldest_first: inOrder('oldest', '>', 'created_at, id'),
} as const;

function inOrder(end: string, comparison: '<' | '>', order: string) {
  const statement = (name: string, columns: readonly string[], from: string): Statement => ({
    name: `read-feed-${end}-${name}`,
    text: `
    SELECT ${columns.join(', ')} FROM notifications
    WHERE ${CONDITIONS} ${from}
    ORDER BY ${order} LIMIT $7`,
  });
  const both = (name: string, columns: readonly string[]) => ({
    whole: statement(`${name}-whole`, columns, ''),
    behind: statement(`${name}-behind`, columns, `AND (created_at, id) ${comparison} ($8::timestamptz, $9)`),
  });
  return { bare: both('bare', SHOWN), linked: both('linked', [...SHOWN, ...LINKS]) };
}
