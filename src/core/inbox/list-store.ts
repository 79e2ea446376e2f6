import type { INBOX_ORDERS } from '@parley/protocol/resources/conversation-values.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import { type Principal, seesWholeAccount } from '../../api/access/principal.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { type KeysetOptions, type KeysetPage, keysetList } from '../../platform/db/connection/keyset.ts';
import { statement, type Value } from '../../platform/db/connection/statement.ts';
import { UNASSIGNED } from '../conversations/cases/assignee-filter.ts';
import { type ConversationRow, conversationColumns, IS_DIRECT } from '../resources/conversation.ts';
import type { EntityRef } from '../resources/entity.ts';
import { IS_MEMBER } from '../resources/membership.ts';
import { isSnoozed } from '../resources/participant.ts';
import { FOLDED } from '../tables/folded-tables.ts';
import { readPending, readStandings, type Scope } from './pending-store.ts';

/** Filters of the list (docs/contract.md#the-inbox). Default `statuses`: all but hidden. */
export interface InboxFilters {
  readonly statuses?: readonly string[] | undefined;
  readonly type?: string | undefined;
  readonly audience?: string | undefined;
  readonly lanes?: readonly string[] | undefined;
  /** The value that readAssigneeFilter returns. */
  readonly assigneeId?: string | undefined;
  /** Actor ids. */
  readonly participantId?: string | undefined;
  readonly customerId?: string | undefined;
  readonly topic?: EntityRef | undefined;
  /** All of these states hold. */
  readonly states?: readonly string[] | undefined;
  readonly groupId?: string | undefined;
  readonly mailboxId?: string | undefined;
  /** Only these conversations. */
  readonly ids?: readonly string[] | undefined;
  /** Only conversations with all of these keys and values. */
  readonly metadata?: Metadata | undefined;
  /** The route turns it into one of `ids`. */
  readonly externalId?: string | undefined;
  /** Whether callers that see the whole account see other people's direct messages too. */
  readonly includesDirect: boolean;
}

export type InboxOrder = (typeof INBOX_ORDERS)[number];

export interface InboxRow extends ConversationRow {
  readonly activity_at: string;
}

export interface InboxRows {
  readonly rows: readonly InboxRow[];
  /** The moment from which events are needed, or undefined if only conversations were read. */
  readonly asOf: string | undefined;
}

/**
 * Returns the conversations that the caller may read, in the order of the page. `asOf` is the
 * moment at which the walk began, or undefined if it begins with this page.
 */
export async function readInbox(
  db: Querier,
  principal: Principal,
  filters: InboxFilters,
  order: InboxOrder,
  page: KeysetPage,
  asOf: string | undefined,
): Promise<InboxRows> {
  const values = valuesOf(principal, filters, order !== 'created' && page.search === null);
  // Only conversations in which the caller has a position can be unread.
  const isUnread = filters.states?.includes('unread') === true;
  const scope: Scope = seesWholeAccount(principal) && !isUnread ? 'account' : 'own';
  if (filters.ids !== undefined) {
    const { asOf: now, ids, activity, unread } = await readStandings(db, principal, scope, filters.ids);
    const list = BY_ROWS[isUnread ? 'unread' : scope][order].pending;
    return { rows: await list.readPage(db, [...values, ids, now, activity, unread], page), asOf: now };
  }
  if (order === 'created' && !isUnread) {
    return { rows: await CREATED[scope].readPage(db, values, page), asOf: undefined };
  }
  if (order === 'waiting' && !isUnread) {
    return { rows: await WAITING[scope].readPage(db, values, page), asOf: undefined };
  }
  const pending = await readPending(db, principal, scope);
  const since = asOf ?? pending.asOf;
  const lists = BY_ROWS[isUnread ? 'unread' : scope][order];
  const [written, merged] = await Promise.all([
    lists.written.readPage(db, [...values, pending.ids, since], page),
    pending.ids.length === 0
      ? []
      : lists.pending.readPage(db, [...values, pending.ids, since, pending.activity, pending.unread], page),
  ]);
  return { rows: inOrder([...written, ...merged], order, page), asOf: since };
}

/** Times are ISO 8601 with microseconds, which sort as text. */
function inOrder(rows: InboxRow[], order: InboxOrder, { direction, fetch }: KeysetPage): InboxRow[] {
  const keyOf = (row: InboxRow) => `${TIME_OF[order](row)} ${row.id}`;
  const sign = (direction === 'next') === (order === 'waiting') ? 1 : -1;
  return rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -sign : sign)).slice(0, fetch);
}

/** The times that rows are ordered by. */
export const TIME_OF: Readonly<Record<InboxOrder, (row: InboxRow) => string>> = {
  created: (row) => row.created_at,
  activity: (row) => row.activity_at,
  waiting: (row) => row.waiting_since ?? '',
};

type FilterValues = ReturnType<typeof valuesOf>;

/** Returns the parameters of CONDITIONS, in their order. */
function valuesOf({ accountId, actor }: Principal, filters: InboxFilters, isInbox: boolean) {
  return [
    accountId,
    actor.id,
    filters.statuses ?? null,
    filters.type ?? null,
    filters.audience ?? null,
    filters.lanes ?? null,
    filters.assigneeId ?? null,
    filters.participantId ?? null,
    filters.customerId ?? null,
    filters.topic?.type ?? null,
    filters.topic?.id ?? null,
    filters.includesDirect,
    filters.states ?? null,
    isInbox && filters.states?.includes('snoozed') !== true,
    filters.metadata === undefined ? null : JSON.stringify(filters.metadata),
    filters.groupId ?? null,
    filters.mailboxId ?? null,
  ] as const;
}

// Absent filters are null: one statement for all combinations keeps its plan.
const CONDITIONS = `c.account_id = $1 AND c.deleted_at IS NULL
      AND CASE WHEN $3::text[] IS NULL THEN p.membership IS DISTINCT FROM 'hidden'
        ELSE (CASE WHEN p.membership = 'hidden' THEN p.membership ELSE c.status END) = ANY($3) END
      AND ($4::text IS NULL OR c.type = $4)
      AND ($5::text IS NULL OR c.audience = $5)
      AND ($6::text[] IS NULL OR c.workflow_status = ANY($6))
      AND ($7::text IS NULL OR c.assignee_id = $7 OR ($7 = '${UNASSIGNED}' AND c.assignee_id IS NULL))
      AND ($8::text IS NULL OR ${isMember('$8')})
      AND ($9::text IS NULL OR ${isMember('$9', "AND o.type = 'customer'")})
      AND ($10::text IS NULL OR (c.topic_type = $10 AND c.topic_id = $11::text))
      AND ($12::boolean OR NOT c.${IS_DIRECT} OR p.id IS NOT NULL)
      AND ($13::text[] IS NULL OR (
        ('mine' <> ALL($13) OR (c.assignee_id = $2 AND c.workflow_status IS DISTINCT FROM 'resolved'))
        AND ('unassigned' <> ALL($13)
          OR (c.audience = 'customer' AND c.assignee_id IS NULL AND c.workflow_status <> 'resolved'))
        AND ('snoozed' <> ALL($13) OR ${isSnoozed('p')})
        AND ('open' <> ALL($13) OR c.workflow_status IS DISTINCT FROM 'resolved')))
      AND (NOT $14::boolean OR p.snoozed_until IS NULL OR NOT ${isSnoozed('p')})
      AND ($15::jsonb IS NULL OR c.metadata @> $15)
      AND ($16::text IS NULL OR c.group_id = $16)
      AND ($17::text IS NULL OR c.inbox_id = $17)`;

/** The number of parameters of CONDITIONS; the parameters of the lists follow. */
const OF_CONDITIONS = 17;

function parameter(place: number): string {
  return `$${OF_CONDITIONS + place}`;
}

function isMember(actorId: string, condition = ''): string {
  return `EXISTS (SELECT FROM participants o
        WHERE o.conversation_id = c.id AND o.actor_id = ${actorId} AND o.${IS_MEMBER} ${condition})`;
}

/**
 * The sources of the rows: for people their own participations, for other callers the account's
 * index in order. OFFSET 0 makes Postgres look up the other table row by row. Otherwise, while
 * tables are small, the planner scans all of the caller's participations for each conversation, and
 * keeps that plan while they grow.
 */
const OWN_OF_R = `JOIN LATERAL (SELECT * FROM participants
      WHERE conversation_id = r.conversation_id AND actor_id = $2 AND ${IS_MEMBER} OFFSET 0) p ON true`;
const C_OF_R = 'CROSS JOIN LATERAL (SELECT * FROM conversations WHERE id = r.conversation_id OFFSET 0) c';

const KEYS = {
  created: [
    ['c.created_at', 'timestamptz'],
    ['c.id', 'text'],
  ],
  activity: [
    ['r.activity_at', 'timestamptz'],
    ['r.conversation_id', 'text'],
  ],
  waiting: [
    ['c.waiting_since', 'timestamptz'],
    ['c.id', 'text'],
  ],
} as const satisfies Record<InboxOrder, KeysetOptions['key']>;

const PENDING_ROWS = `ROWS FROM (unnest(${parameter(1)}::text[]), unnest(${parameter(3)}::timestamptz[]),
      unnest(${parameter(4)}::boolean[])) AS r(conversation_id, activity_at, is_unread)`;

/** Lists by rows of the inbox without pending conversations, and the same lists of pending ones. */
const BY_ROWS = {
  own: byRows('own', 'inbox_rows r', 'r.actor_id = $2 AND r.activity_at IS NOT NULL', ''),
  unread: byRows('unread', 'inbox_rows r', 'r.actor_id = $2 AND r.is_unread', ''),
  account: byRows('account', 'conversation_activity r', 'r.account_id = $1', 'LEFT'),
} as const;

function byRows(name: string, rows: string, condition: string, join: 'LEFT' | '') {
  const define = (order: InboxOrder) => ({
    written: listOf<[pendingIds: readonly string[], asOf: string]>(order, {
      name: `list-inbox-${name}-${order}`,
      from: `${rows} ${C_OF_R} ${join} ${OWN_OF_R}`,
      where: `${condition} AND r.conversation_id <> ALL(${parameter(1)}::text[])
      AND r.activity_at <= ${parameter(2)}::timestamptz AND ${CONDITIONS}`,
    }),
    pending: listOf<
      [pendingIds: readonly string[], asOf: string, activity: readonly string[], unread: readonly boolean[]]
    >(order, {
      name: `list-inbox-${name}-${order}-pending`,
      from: `${PENDING_ROWS} ${C_OF_R} ${join} ${OWN_OF_R}`,
      where: `${name === 'unread' ? 'r.is_unread' : 'true'} AND r.activity_at <= ${parameter(2)}::timestamptz
      AND ${CONDITIONS}`,
    }),
  });
  return { created: define('created'), activity: define('activity'), waiting: define('waiting') };
}

const CREATED = {
  own: listOf<[]>('created', {
    activityAt: 'c.created_at',
    name: 'list-conversations-own',
    from: 'participants p CROSS JOIN LATERAL (SELECT * FROM conversations WHERE id = p.conversation_id OFFSET 0) c',
    where: `p.actor_id = $2 AND p.${IS_MEMBER} AND ${CONDITIONS}`,
  }),
  account: listOf<[]>('created', {
    activityAt: 'c.created_at',
    name: 'list-conversations-whole_account',
    from: `conversations c LEFT JOIN LATERAL (
      SELECT * FROM participants
      WHERE conversation_id = c.id AND actor_id = $2 AND ${IS_MEMBER} OFFSET 0
    ) p ON true`,
    where: CONDITIONS,
  }),
};

/** Of the cases whose customers wait, which are few, the caller's own are found one by one. */
const WAITING = { own: waiting('own', ''), account: waiting('whole_account', 'LEFT') } as const;

function waiting(name: string, join: 'LEFT' | '') {
  return listOf<[]>('waiting', {
    activityAt: 'c.created_at',
    name: `list-waiting-${name}`,
    from: `conversations c ${join} JOIN LATERAL (
      SELECT * FROM participants
      WHERE conversation_id = c.id AND actor_id = $2 AND ${IS_MEMBER} OFFSET 0
    ) p ON true`,
    where: CONDITIONS,
  });
}

function listOf<Values extends readonly Value[]>(
  order: InboxOrder,
  {
    activityAt = 'r.activity_at',
    ...source
  }: Pick<KeysetOptions, 'name' | 'from' | 'where'> & { readonly activityAt?: string },
) {
  return keysetList<readonly [...FilterValues, ...Values], InboxRow>({
    ...source,
    where: order === 'waiting' ? `c.waiting_since IS NOT NULL AND ${source.where}` : source.where,
    order: order === 'waiting' ? 'oldest_first' : 'newest_first',
    columns: `${conversationColumns('c')}, ${activityAt} AS activity_at`,
    key: KEYS[order],
    folded: { table: FOLDED.conversations, alias: 'c' },
  });
}

export async function readClock(db: Querier): Promise<string> {
  const [clock] = await db.query(READ_CLOCK);
  return clock!.at;
}

const READ_CLOCK = statement<[], { at: string }>('read-clock')`SELECT statement_timestamp() AS at`;
