import { Type } from 'typebox';
import { type Principal, seesWholeAccount } from '../access/principal.ts';
import type { Db } from '../db/handle.ts';
import type { Statement } from '../db/statement.ts';
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
  /** Searched for in the title, ignoring case. */
  readonly q?: string | null;
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

/** A page of the list: from its newer or its older end, or after the time and id of a conversation. */
export interface ConversationStretch {
  readonly order: 'newest_first' | 'oldest_first';
  readonly after: readonly (string | number)[] | null;
  readonly limit: number;
}

/** Returns the conversations that the caller may read, in the requested order. */
export async function readConversations(
  db: Db,
  principal: Principal,
  filters: ConversationFilters,
  { order, after, limit }: ConversationStretch,
): Promise<ConversationRow[]> {
  const { workflowStatus, assigneeId } = filters;
  // Customers see null in these fields everywhere, so no conversation matches.
  if (principal.customer && (workflowStatus !== undefined || assigneeId !== undefined)) return [];
  const whose = seesWholeAccount(principal) ? 'whole_account' : 'own';
  return db.query(
    STATEMENTS[whose][order][after === null ? 'whole' : 'behind'],
    principal.accountId,
    principal.actor.id,
    filters.status ?? null,
    filters.type ?? null,
    filters.audience ?? null,
    workflowStatus ?? null,
    assigneeId ?? null,
    filters.q ? `%${escapeLike(filters.q)}%` : null,
    limit,
    ...(after ?? []),
  );
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/**
 * The source of the rows: for people their own participations, for other callers the account's index in order. OFFSET
 * 0 makes Postgres look up the other table row by row: otherwise the planner, while tables are small, scans all of the
 * caller's participations for each conversation, and keeps that plan while they grow.
 */
const SOURCES = {
  own: `participants p CROSS JOIN LATERAL (SELECT * FROM conversations WHERE id = p.conversation_id OFFSET 0) c
    WHERE c.account_id = $1 AND p.actor_id = $2 AND p.membership IN ('active', 'hidden')`,
  whole_account: `conversations c LEFT JOIN LATERAL (
      SELECT membership FROM participants
      WHERE conversation_id = c.id AND actor_id = $2 AND membership IN ('active', 'hidden') OFFSET 0
    ) p ON true
    WHERE c.account_id = $1`,
} as const;

// Filters that are not given are null: one statement for all combinations keeps its plan.
const CONDITIONS = `
      AND CASE WHEN $3::text = 'hidden' THEN p.membership = 'hidden'
        ELSE p.membership IS DISTINCT FROM 'hidden' AND ($3 IS NULL OR c.status = $3) END
      AND ($4::text IS NULL OR c.type = $4)
      AND ($5::text IS NULL OR c.audience = $5)
      AND ($6::text IS NULL OR c.workflow_status = $6)
      AND ($7::text IS NULL OR c.assignee_id = $7 OR ($7 = '${UNASSIGNED}' AND c.assignee_id IS NULL))
      AND ($8::text IS NULL OR c.title ILIKE $8)`;

type Params = [
  accountId: string,
  actorId: string,
  status: string | null,
  type: string | null,
  audience: string | null,
  workflowStatus: string | null,
  assigneeId: string | null,
  pattern: string | null,
  limit: number,
  ...after: (string | number)[],
];

const STATEMENTS = { own: statementsOf('own'), whole_account: statementsOf('whole_account') } as const;

function statementsOf(whose: keyof typeof SOURCES) {
  const inOrder = (end: string, comparison: '<' | '>', order: string) => {
    const statement = (name: string, from: string): Statement<Params, ConversationRow> => ({
      name: `list-conversations-${whose}-${end}-${name}`,
      text: `
    SELECT ${conversationColumns('c')} FROM ${SOURCES[whose]} ${CONDITIONS} ${from}
    ORDER BY ${order} LIMIT $9`,
    });
    return {
      whole: statement('whole', ''),
      behind: statement('behind', `AND (c.created_at, c.id) ${comparison} ($10::timestamptz, $11)`),
    };
  };
  return {
    newest_first: inOrder('newest', '<', 'c.created_at DESC, c.id DESC'),
    oldest_first: inOrder('oldest', '>', 'c.created_at, c.id'),
  };
}
