import { WORKFLOW_STATUSES } from '@parley/protocol/resources/conversation-values.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { IS_MEMBER } from '../resources/membership.ts';
import { isSnoozed } from '../resources/participant.ts';
import { readInbox } from './list-store.ts';
import { readPending, type Scope, scopeOf, unreadOf } from './pending-store.ts';
import { readWorkCounts } from './work-store.ts';

/**
 * Returns the caller's summary. `unread` counts the list by activity with `filter` `unread`; hidden
 * conversations do not count. Customers see no lanes.
 */
export async function readInboxSummary(db: Querier, principal: Principal): Promise<InboxSummary> {
  const pending = await readPending(db, principal, 'own');
  const { accountId, actor, customer } = principal;
  const [[row], latest, work] = await Promise.all([
    db.query(SUMMARIES[scopeOf(principal)], accountId, actor.id, pending.ids, unreadOf(pending)),
    readInbox(db, principal, { includesDirect: false }, 'activity', LATEST, undefined),
    readWorkCounts(db, principal),
  ]);
  const { lanes, ...counts } = row!;
  const shown = customer ? { ...NO_WORK, unread: counts.unread } : counts;
  return {
    object: 'inbox_summary',
    ...shown,
    lanes: { ...NO_CASES, ...(customer ? {} : lanes) },
    latest: latest.rows.map(({ id, activity_at }) => ({ conversation_id: id, activity_at })),
    as_of: pending.asOf,
    work,
  };
}

const LATEST = { direction: 'next', after: null, fetch: 10, search: null } as const;

const NO_WORK = { mine: 0, unassigned: 0, snoozed: 0, snooze_ends_at: null } as const;

const NO_CASES = Object.fromEntries(WORKFLOW_STATUSES.map((lane) => [lane, 0])) as InboxSummary['lanes'];

interface SummaryRow extends Pick<InboxSummary, 'unread' | 'mine' | 'unassigned' | 'snoozed'> {
  readonly snooze_ends_at: string | null;
  readonly lanes: Partial<InboxSummary['lanes']>;
}

const MEMBER_OF = (id: string) => `CROSS JOIN LATERAL (
        SELECT * FROM participants
        WHERE conversation_id = ${id} AND actor_id = $2 AND membership = 'active' OFFSET 0
      ) p CROSS JOIN LATERAL (SELECT deleted_at FROM conversations WHERE id = ${id} OFFSET 0) c
      WHERE c.deleted_at IS NULL AND (p.snoozed_until IS NULL OR NOT ${isSnoozed('p')})`;

/**
 * The cases of a member's participations; for other callers all cases except those they have
 * hidden.
 */
const CASES: Readonly<Record<Scope, string>> = {
  own: `
      SELECT c.workflow_status, c.assignee_id, 1 AS number
      FROM participants p JOIN conversations c ON c.id = p.conversation_id
      WHERE p.actor_id = $2 AND p.membership = 'active' AND c.workflow_status IS NOT NULL AND c.deleted_at IS NULL`,
  account: `
      SELECT c.workflow_status, c.assignee_id, 1 AS number FROM conversations c
      WHERE c.account_id = $1 AND c.workflow_status IS NOT NULL AND c.deleted_at IS NULL
      UNION ALL
      SELECT c.workflow_status, c.assignee_id, -1
      FROM participants p JOIN conversations c ON c.id = p.conversation_id
      WHERE p.actor_id = $2 AND p.membership = 'hidden' AND c.workflow_status IS NOT NULL AND c.deleted_at IS NULL`,
};

const SUMMARIES = { own: summary('own'), account: summary('account') } as const;

function summary(scope: Scope) {
  return statement<
    [accountId: string, actorId: string, pendingIds: readonly string[], unreadIds: readonly string[]],
    SummaryRow
  >(`read-inbox-summary-${scope}`)`
    WITH cases AS (${CASES[scope]}
    ), lanes AS (
      SELECT workflow_status AS lane, sum(number)::integer AS number,
        coalesce(sum(number) FILTER (WHERE assignee_id IS NULL), 0) AS free
      FROM cases GROUP BY workflow_status
    )
    SELECT (
        SELECT count(*) FROM inbox_rows r ${MEMBER_OF('r.conversation_id')}
          AND r.actor_id = $2 AND r.is_unread AND r.conversation_id <> ALL($3::text[])
      ) + (
        SELECT count(*) FROM unnest($4::text[]) AS r(conversation_id) ${MEMBER_OF('r.conversation_id')}
      ) AS unread,
      (SELECT count(*) FROM conversations c LEFT JOIN participants p
          ON p.conversation_id = c.id AND p.actor_id = $2 AND p.${IS_MEMBER}
        WHERE c.account_id = $1 AND c.assignee_id = $2 AND c.deleted_at IS NULL
          AND c.workflow_status IS DISTINCT FROM 'resolved' AND p.membership IS DISTINCT FROM 'hidden'
          ${scope === 'own' ? 'AND p.id IS NOT NULL' : ''}) AS mine,
      (SELECT coalesce(sum(free), 0)::bigint FROM lanes WHERE lane <> 'resolved') AS unassigned,
      snoozed.count AS snoozed, snoozed.ends_at AS snooze_ends_at,
      (SELECT coalesce(jsonb_object_agg(lane, number), '{}') FROM lanes) AS lanes
    FROM (
      SELECT count(*) AS count, min(p.snoozed_until) FILTER (WHERE p.snoozed_until <> 'infinity') AS ends_at
      FROM participants p JOIN conversations c ON c.id = p.conversation_id
      WHERE p.actor_id = $2 AND p.membership = 'active' AND p.snoozed_until > clock_timestamp()
        AND c.deleted_at IS NULL AND ${isSnoozed('p')}
    ) snoozed`;
}
