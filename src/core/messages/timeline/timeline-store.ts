import { newId } from '@parley/protocol/ids.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import {
  GATHERED_KEYS,
  type GatheredKeys,
  parseKey,
  type RowKey,
  rowKey,
} from '../../resources/encoded-rows.ts';
import { type BriefRow, briefColumns, messageColumns, type TimelineRow } from '../../resources/message.ts';

/**
 * Numbers further below a conversation's highest are settled by definition: the write path never
 * fills them (docs/architecture.md#the-write-path).
 */
export const SETTLE_WINDOW = 1_000;

/**
 * SQL: whether a number of a conversation may still become a message: it was not purged, and is
 * within the window. It looks for one row above the window, and the descent ends at a page of which
 * it reads no row; `max(sequence)` would read all of the conversation's last page. `floor` is an
 * expression of a row of `conversations` that the number exceeds.
 */
export function isOpenNumber(conversationId: string, sequence: string, floor = 'purged_through'): string {
  return `(SELECT above.sequence FROM messages above WHERE above.conversation_id = ${conversationId}
          AND above.sequence >= ${sequence} + ${SETTLE_WINDOW} LIMIT 1) IS NULL
        AND ${sequence} > (SELECT ${floor} FROM conversations WHERE id = ${conversationId})`;
}

/** A number of one conversation's timeline. */
export interface SequenceNumber {
  readonly conversationId: string;
  readonly sequence: number;
}

/** A range of one conversation's timeline that excludes `after` and includes `upTo`. */
export interface SequenceRange {
  readonly conversationId: string;
  readonly after: number;
  readonly upTo: number;
}

/** A range of a timeline that excludes both of its bounds. */
export interface TimelineRange {
  readonly conversationId: string;
  readonly after: number;
  readonly before: number;
  readonly order: 'oldest_first' | 'newest_first';
  readonly limit: number;
  /** Whether messages that customers may not see are excluded. */
  readonly forCustomer: boolean;
}

export interface TimelineHead {
  readonly head: number;
  /** The number below the lowest hole of the last SETTLE_WINDOW numbers. */
  readonly settled: number;
  /** The number of the last message up to `settled`: numbers after it are voids. */
  readonly visible: number;
  /** Ids of the texts being written: drafts, and messages up to `settled`. */
  readonly writing: readonly string[];
}

/** Returns the highest number of each conversation that was ever used; 0 if there is none. */
export async function readHeads(
  db: Querier,
  conversationIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query(READ_HEADS, conversationIds);
  return new Map(rows.map(({ id, head }) => [id, head]));
}

/** Returns the head of a conversation, and the number up to which all numbers count as settled. */
export async function readHead(
  db: Querier,
  conversationId: string,
): Promise<{ readonly head: number; readonly floor: number }> {
  const [row] = await db.query(READ_HEADS, [conversationId]);
  return row!;
}

/** The key of a message on a page. */
export interface TimelineKey extends RowKey {
  readonly sequence: number;
  /** Null unless the viewer is the author. */
  readonly client_message_id: string | null;
}

/** Sent messages of a range in its order, settled or not. */
export interface TimelineSlice<Item> {
  readonly items: Item[];
  /** The highest number of the conversation at the time of the read; 0 if nothing was found. */
  readonly head: number;
  /** The number up to which messages were purged; 0 if nothing was found. */
  readonly purged: number;
}

/** A row of a page without its body if that is large. */
export type BriefTimelineRow = TimelineRow & BriefRow;

export async function readSent(db: Querier, range: TimelineRange): Promise<TimelineSlice<BriefTimelineRow>> {
  const { conversationId, after, before, order, limit, forCustomer } = range;
  const items = await db.query(READS[order].rows, conversationId, after, before, limit, forCustomer);
  return { items, head: items[0]?.head ?? 0, purged: items[0]?.purged ?? 0 };
}

export async function readSentKeys(
  db: Querier,
  { conversationId, after, before, order, limit, forCustomer }: TimelineRange,
  viewerId: string,
): Promise<TimelineSlice<TimelineKey>> {
  const place = [conversationId, after, before, limit, forCustomer] as const;
  const [row] = await db.query(READS[order].keys, ...place, viewerId);
  const { keys, own, head, purged } = row!;
  const items = keys === null ? [] : keys.split(',').map((key) => parseTimelineKey(key, own));
  return { items, head: head ?? 0, purged };
}

function parseTimelineKey(text: string, own: GatheredTimelineKeys['own']): TimelineKey {
  const end = text.indexOf(' ');
  const sequence = text.slice(0, end);
  return {
    ...parseKey(text.slice(end + 1)),
    sequence: Number(sequence),
    client_message_id: own?.[sequence] ?? null,
  };
}

/** Returns the current rows of sent messages that the reader may see, in no order. */
export function readSentById(
  db: Querier,
  conversationId: string,
  ids: readonly string[],
  forCustomer: boolean,
): Promise<TimelineRow[]> {
  return db.query(READ_SENT_BY_ID, conversationId, ids, forCustomer);
}

/** Writes a void at each of these numbers without a row. Returns the numbers that it wrote. */
export function insertVoids(db: Querier, numbers: readonly SequenceNumber[]): Promise<VoidedNumber[]> {
  return db.query(
    INSERT_VOIDS,
    numbers.map(() => newId('message')),
    numbers.map(({ conversationId }) => conversationId),
    numbers.map(({ sequence }) => sequence),
  );
}

interface VoidedNumber {
  readonly conversation_id: string;
  readonly sequence: number;
}

/** SQL: the number up to which messages were purged; 0 if the conversation does not exist. */
export function purgedThrough(conversationId: string): string {
  return `coalesce((SELECT purged_through FROM conversations WHERE id = ${conversationId}), 0)`;
}

/** SQL: one row, `head` and `floor`. */
export function headOf(conversationId: string): string {
  return `(
      SELECT greatest(newest.sequence, purged.through) AS head,
        greatest(newest.sequence - ${SETTLE_WINDOW}, purged.through) AS floor
      FROM (SELECT max(sequence) AS sequence FROM messages WHERE conversation_id = ${conversationId}) newest,
        (SELECT ${purgedThrough(conversationId)} AS through) purged
    )`;
}

/** SQL: one row, `settled`: the last of the gapless rows after `start`, which is settled. */
export function settledAfter(conversationId: string, start: string): string {
  // Numbers are consecutive while the number minus the row's position stays the same.
  return `(
      SELECT coalesce(max(sequence) FILTER (WHERE sequence = expected), ${start}) AS settled
      FROM (
        SELECT m.sequence, ${start} + row_number() OVER (ORDER BY m.sequence) AS expected
        FROM messages m WHERE m.conversation_id = ${conversationId} AND m.sequence > ${start}
      ) numbered
    )`;
}

const READ_HEADS = statement<
  [conversationIds: readonly string[]],
  { id: string; head: number; floor: number }
>('read-heads')`
    SELECT c.id, h.head, h.floor FROM unnest($1::text[]) AS c(id), LATERAL ${headOf('c.id')} h`;

type SentParams = [
  conversationId: string,
  after: number,
  before: number,
  limit: number,
  forCustomer: boolean,
];

interface GatheredTimelineKeys extends GatheredKeys {
  /** The client ids of the viewer's own messages, by number. */
  readonly own: Readonly<Record<string, string>> | null;
  readonly head: number | null;
  readonly purged: number;
}

const ENDS = `(SELECT max(sequence) FROM messages WHERE conversation_id = $1) AS head, ${purgedThrough('$1')} AS purged`;

const READS = {
  oldest_first: readsOf('oldest', 'm.sequence'),
  newest_first: readsOf('newest', 'm.sequence DESC'),
} as const;

/** Returns the statements for a page's rows and for its keys, from one end of a range. */
function readsOf(end: 'oldest' | 'newest', order: string) {
  const page = (columns: string) => `
    SELECT ${columns} FROM messages m
    WHERE m.conversation_id = $1 AND m.sequence > $2 AND m.sequence < $3 AND m.status = 'sent'
      AND (NOT $5::boolean OR m.visibility <> 'internal')
    ORDER BY ${order} LIMIT $4`;
  const own = 'CASE WHEN m.author_id = $6 THEN m.client_message_id END AS own';
  return {
    rows: statement<SentParams, BriefTimelineRow & { readonly head: number; readonly purged: number }>(
      `read-timeline-${end}`,
    )(page(`${briefColumns('m')}, m.updated_at::text AS version, ${ENDS}`)),
    keys: statement<[...SentParams, viewerId: string], GatheredTimelineKeys>(`read-timeline-keys-${end}`)`
    SELECT ${ENDS}, ${GATHERED_KEYS}, json_object_agg(sequence, own) FILTER (WHERE own IS NOT NULL) AS own
    FROM (${page(`m.sequence, m.sequence || ' ' || ${rowKey('m')} AS key, ${own}`)}) AS page`,
  };
}

const READ_SENT_BY_ID = statement<
  [conversationId: string, ids: readonly string[], forCustomer: boolean],
  TimelineRow
>('read-timeline-by-id')`
    SELECT ${messageColumns('m')}, m.updated_at::text AS version FROM messages m
    WHERE m.conversation_id = $1 AND m.id = ANY($2) AND m.status = 'sent'
      AND (NOT $3::boolean OR m.visibility <> 'internal')`;

// This waits for an owner whose insert of the same number is in progress. An owner that inserts
// later conflicts and takes another number.
const INSERT_VOIDS = statement<
  [ids: readonly string[], conversationIds: readonly string[], sequences: readonly number[]],
  VoidedNumber
>('insert-voids')`
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility)
    SELECT v.id, c.account_id, c.id, v.sequence, 'void', 'void', 'internal'
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS v(id, conversation_id, sequence)
      JOIN conversations c ON c.id = v.conversation_id AND c.purged_through < v.sequence
    ORDER BY c.id, v.sequence
    ON CONFLICT DO NOTHING
    RETURNING conversation_id, sequence`;
