import type { Conversation, ConversationInclude } from '@parley/protocol/resources/conversation.ts';
import type { WorkCounts } from '@parley/protocol/resources/inbox.ts';
import { MOST_WORK, type Work } from '@parley/protocol/resources/work.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Db, Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { expandConversations } from '../resources/conversation.ts';
import { IS_MEMBER } from '../resources/membership.ts';
import { isSnoozed } from '../resources/participant.ts';
import { ACTORS } from '../resources/shown-conversation.ts';
import { type InboxFilters, readClock, readInbox } from './list-store.ts';
import { type Scope, scopeOf } from './pending-store.ts';

/**
 * Returns what waits for the caller, the longest waiting first. The cases are the first page of the
 * list with `order` `waiting`, and the counts are those of the summary.
 */
export async function readWork(
  db: Db,
  principal: Principal,
  include: readonly ConversationInclude[],
): Promise<Work> {
  const cases = async (state: 'unassigned' | 'mine'): Promise<readonly Conversation[]> => {
    const filters: InboxFilters = { statuses: ['active'], states: [state], includesDirect: false };
    const { rows } = await readInbox(db, principal, filters, 'waiting', FIRST, undefined);
    const shown = await expandConversations(db, principal, rows, include, ACTORS);
    return rows.map(({ id }) => shown.get(id)!);
  };
  const as_of = await readClock(db);
  const [counts, unassigned, mine, approvals, drafts] = await Promise.all([
    readWorkCounts(db, principal),
    cases('unassigned'),
    cases('mine'),
    db.query(READ_APPROVALS, principal.actor.id),
    db.query(READ_DRAFTS, principal.actor.id),
  ]);
  return { object: 'work', counts, unassigned: [...unassigned], mine: [...mine], approvals, drafts, as_of };
}

const FIRST = { direction: 'next', after: null, fetch: MOST_WORK, search: null } as const;

export async function readWorkCounts(db: Querier, principal: Principal): Promise<WorkCounts> {
  const { accountId, actor, customer } = principal;
  if (customer) return { count: 0, unassigned: 0, mine: 0, approvals: 0, drafts: 0 };
  const [row] = await db.query(COUNTS[scopeOf(principal)], accountId, actor.id);
  const { unassigned, mine, approvals, drafts } = row!;
  return { count: unassigned + mine + approvals + drafts, unassigned, mine, approvals, drafts };
}

/**
 * SQL: the notifications of a kind of work for an actor, which are dismissed where it no longer
 * waits.
 */
function workOf(category: 'approval.requested' | 'draft.proposed', actorId: '$1' | '$2'): string {
  return `notifications n WHERE n.recipient_id = ${actorId} AND n.subject IS NOT NULL AND n.status <> 'dismissed'
      AND n.category = '${category}'`;
}

const COUNTS = { own: countsOf('own'), account: countsOf('account') } as const;

function countsOf(scope: Scope) {
  return statement<[accountId: string, actorId: string], Omit<WorkCounts, 'count'>>(`count-work-${scope}`)`
    SELECT cases.unassigned, cases.mine,
      (SELECT count(DISTINCT n.agent_run_id) FROM ${workOf('approval.requested', '$2')}) AS approvals,
      (SELECT count(DISTINCT n.message_id) FROM ${workOf('draft.proposed', '$2')}) AS drafts
    FROM (
      SELECT count(*) FILTER (WHERE c.assignee_id IS NULL) AS unassigned,
        count(*) FILTER (WHERE c.assignee_id = $2) AS mine
      FROM conversations c ${scope === 'own' ? '' : 'LEFT'} JOIN LATERAL (
        SELECT * FROM participants
        WHERE conversation_id = c.id AND actor_id = $2 AND ${IS_MEMBER} OFFSET 0
      ) p ON true
      WHERE c.account_id = $1 AND c.waiting_since IS NOT NULL AND c.deleted_at IS NULL AND c.status = 'active'
        AND (c.assignee_id IS NULL OR c.assignee_id = $2) AND p.membership IS DISTINCT FROM 'hidden'
        AND (p.snoozed_until IS NULL OR NOT ${isSnoozed('p')})
    ) cases`;
}

const READ_APPROVALS = statement<[actorId: string], Work['approvals'][number]>('list-approvals-to-give')`
    SELECT n.agent_run_id, min(n.resource_id) AS conversation_id, min(n.created_at) AS waiting_since
    FROM ${workOf('approval.requested', '$1')} AND n.agent_run_id IS NOT NULL
    GROUP BY n.agent_run_id ORDER BY waiting_since, n.agent_run_id LIMIT ${MOST_WORK}`;

const READ_DRAFTS = statement<[actorId: string], Work['drafts'][number]>('list-drafts-to-approve')`
    SELECT n.message_id, min(n.resource_id) AS conversation_id, min(n.created_at) AS waiting_since
    FROM ${workOf('draft.proposed', '$1')} AND n.message_id IS NOT NULL AND n.resource_id IS NOT NULL
    GROUP BY n.message_id ORDER BY waiting_since, n.message_id LIMIT ${MOST_WORK}`;
