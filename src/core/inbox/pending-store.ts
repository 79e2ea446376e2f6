import { type Principal, seesWholeAccount } from '../../api/access/principal.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { MESSAGES_SENT } from '../messages/outbox-topics.ts';
import { IS_MEMBER } from '../resources/membership.ts';
import { activityOf, isUnread, standingOf } from './standing.ts';

/**
 * The conversations of a reader, as they stand at `asOf`, whose rows may be out of date or absent
 * because of their size. Later reads of rows leave them out.
 */
export interface Pending {
  readonly asOf: string;
  readonly ids: readonly string[];
  /** By index: the time of the last activity, and whether the reader has something unread. */
  readonly activity: readonly string[];
  readonly unread: readonly boolean[];
}

/** Returns the ids of the conversations in which the reader has something unread. */
export function unreadOf({ ids, unread }: Pending): readonly string[] {
  return ids.filter((_, place) => unread[place]);
}

/** The rows to read: the caller's own, or those of all conversations of its account. */
export type Scope = 'own' | 'account';

export function scopeOf(principal: Principal): Scope {
  return seesWholeAccount(principal) ? 'account' : 'own';
}

export async function readPending(
  db: Querier,
  { accountId, actor }: Principal,
  scope: Scope,
): Promise<Pending> {
  const [row] = await db.query(READ_PENDING[scope], accountId, actor.id);
  return pendingIn(row!);
}

/** Returns the standings of these conversations, whether or not their rows are right. */
export async function readStandings(
  db: Querier,
  { accountId, actor }: Principal,
  scope: Scope,
  ids: readonly string[],
): Promise<Pending> {
  const [row] = await db.query(READ_STANDINGS[scope], accountId, actor.id, ids);
  return pendingIn(row!);
}

function pendingIn({ as_of, pending }: PendingRow): Pending {
  return {
    asOf: as_of,
    ids: pending.map(({ id }) => id),
    activity: pending.map((one) => one.at),
    unread: pending.map((one) => one.unread),
  };
}

/**
 * The number of outbox rows that are read: rows that stay longer than a moment are among the
 * oldest.
 */
const MOST_SENT = 1_000;

const READ_PENDING = { own: pendingOf('own'), account: pendingOf('account') } as const;
const READ_STANDINGS = { own: standingsOf('own'), account: standingsOf('account') } as const;

interface PendingRow {
  readonly as_of: string;
  readonly pending: readonly { readonly id: string; readonly at: string; readonly unread: boolean }[];
}

function pendingOf(scope: Scope) {
  const large =
    'UNION ALL SELECT conversation_id, false FROM inbox_rows WHERE actor_id = $2 AND activity_at IS NULL';
  return statement<[accountId: string, actorId: string], PendingRow>(`read-pending-inbox-${scope}`)`
    ${standingOfEach(
      scope,
      `SELECT conversation_id AS id, is_rescan FROM inbox_due WHERE actor_id IS NULL OR actor_id = $2
      UNION ALL
      SELECT sent.conversation_id, false
      FROM (SELECT payload FROM outbox WHERE topic = '${MESSAGES_SENT.name}' ORDER BY id DESC LIMIT ${MOST_SENT}) o,
        jsonb_to_recordset(o.payload -> 'messages') AS sent(conversation_id text)
      ${scope === 'own' ? large : ''}`,
    )}`;
}

function standingsOf(scope: Scope) {
  return statement<[accountId: string, actorId: string, ids: readonly string[]], PendingRow>(
    `read-standings-in-inbox-${scope}`,
  )`
    ${standingOfEach(
      scope,
      `SELECT named.id, EXISTS (
        SELECT FROM inbox_due d WHERE d.conversation_id = named.id AND d.is_rescan
      ) AS is_rescan
      FROM unnest($3::text[]) AS named(id)`,
    )}`;
}

/** SQL: a PendingRow of the conversations that `waiting` selects, each perhaps several times. */
function standingOfEach(scope: Scope, waiting: string): string {
  return `WITH waiting AS (
      ${waiting}
    ), due AS MATERIALIZED (
      SELECT id, bool_or(is_rescan) AS is_rescan FROM waiting GROUP BY id
    ), found AS (
      SELECT due.id, ${scope === 'own' ? activityOf('p', 's') : 's.activity_at'} AS at,
        p.id IS NOT NULL AND ${isUnread('p', 's')} AS unread
      FROM due
        ${scope === 'own' ? 'JOIN' : 'LEFT JOIN'} participants p
          ON p.conversation_id = due.id AND p.actor_id = $2 AND p.${IS_MEMBER}
        JOIN conversations c ON c.id = due.id AND c.account_id = $1
        ${standingOf('due', 'c')}
    )
    SELECT statement_timestamp() AS as_of,
      coalesce((SELECT jsonb_agg(jsonb_build_object('id', id, 'at', at, 'unread', unread)) FROM found), '[]') AS pending`;
}
