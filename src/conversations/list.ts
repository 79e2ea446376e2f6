import { Type } from 'typebox';
import { type Principal, seesWholeAccount } from '../access/principal.ts';
import type { Db } from '../db/handle.ts';
import { type KeysetOptions, type KeysetPage, keysetList } from '../db/keyset.ts';
import { ApiError } from '../protocol/errors.ts';
import { readNamedActors } from '../resources/actor.ts';
import { type ConversationRow, conversationColumns } from '../resources/conversation.ts';

/**
 * Filters of the list (docs/contract.md#conversations); without `status`: all but those that the caller has hidden.
 */
export interface ConversationFilters {
  readonly status?: string | undefined;
  readonly type?: string | undefined;
  readonly audience?: string | undefined;
  readonly workflowStatus?: string | undefined;
  /** The value that readAssigneeFilter returns. */
  readonly assigneeId?: string | undefined;
}

const ME = 'me';
const UNASSIGNED = 'none';

/** The query parameter `assignee_id` of lists: the id of a user or group, or one of two keywords. */
export const AssigneeFilter = Type.String({
  minLength: 1,
  maxLength: 64,
  description: `Id of a user or a group; \`${ME}\` is the caller, \`${UNASSIGNED}\` are conversations without an assignee.`,
});

/**
 * Returns the filter's value for readConversations. Throws ApiError `parameter_invalid` for an id that is not an actor
 * of the account: an empty list would hide the mistake. For customers no conversation has an assignee, and the error
 * would reveal which actors exist, so they never get it.
 */
export async function readAssigneeFilter(
  db: Db,
  { accountId, actor, customer }: Principal,
  given: string,
): Promise<string> {
  if (customer || given === UNASSIGNED) return given;
  if (given === ME) return actor.id;
  const assignee = (await readNamedActors(db, accountId, [given])).get(given);
  if (assignee !== undefined) return assignee.id;
  throw new ApiError(
    'parameter_invalid',
    `Must be the id of a user or a group of the account, ${ME} or ${UNASSIGNED}.`,
    {
      param: 'assignee_id',
    },
  );
}

/** Returns the conversations that the caller may read, newest first. */
export async function readConversations(
  db: Db,
  principal: Principal,
  filters: ConversationFilters,
  page: KeysetPage,
): Promise<ConversationRow[]> {
  const { status = null, type = null, audience = null, workflowStatus = null, assigneeId = null } = filters;
  // Customers see null in these fields everywhere, so no conversation matches.
  if (principal.customer && (workflowStatus !== null || assigneeId !== null)) return [];
  const list = seesWholeAccount(principal) ? OF_ACCOUNT : OWN;
  const { accountId, actor } = principal;
  return list.readPage(db, [accountId, actor.id, status, type, audience, workflowStatus, assigneeId], page);
}

// Filters that are not given are null: one statement for all combinations keeps its plan.
const CONDITIONS = `CASE WHEN $3::text = 'hidden' THEN p.membership = 'hidden'
        ELSE p.membership IS DISTINCT FROM 'hidden' AND ($3 IS NULL OR c.status = $3) END
      AND ($4::text IS NULL OR c.type = $4)
      AND ($5::text IS NULL OR c.audience = $5)
      AND ($6::text IS NULL OR c.workflow_status = $6)
      AND ($7::text IS NULL OR c.assignee_id = $7 OR ($7 = '${UNASSIGNED}' AND c.assignee_id IS NULL))`;

/**
 * The source of the rows: for people their own participations, for other callers the account's index in order. OFFSET
 * 0 makes Postgres look up the other table row by row: otherwise the planner, while tables are small, scans all of the
 * caller's participations for each conversation, and keeps that plan while they grow.
 */
const OWN = conversationList({
  name: 'list-conversations-own',
  from: 'participants p CROSS JOIN LATERAL (SELECT * FROM conversations WHERE id = p.conversation_id OFFSET 0) c',
  where: `c.account_id = $1 AND p.actor_id = $2 AND p.membership IN ('active', 'hidden') AND ${CONDITIONS}`,
});

const OF_ACCOUNT = conversationList({
  name: 'list-conversations-whole_account',
  from: `conversations c LEFT JOIN LATERAL (
      SELECT membership FROM participants
      WHERE conversation_id = c.id AND actor_id = $2 AND membership IN ('active', 'hidden') OFFSET 0
    ) p ON true`,
  where: `c.account_id = $1 AND ${CONDITIONS}`,
});

function conversationList(options: Pick<KeysetOptions, 'name' | 'from' | 'where'>) {
  return keysetList<
    [
      accountId: string,
      actorId: string,
      status: string | null,
      type: string | null,
      audience: string | null,
      workflowStatus: string | null,
      assigneeId: string | null,
    ],
    ConversationRow
  >({
    ...options,
    columns: conversationColumns('c'),
    key: [
      ['c.created_at', 'timestamptz'],
      ['c.id', 'text'],
    ],
    search: ['c.title'],
  });
}
