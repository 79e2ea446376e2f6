import { type ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import type { RunTrigger } from '@parley/protocol/resources/agent-run.ts';
import { OPEN_STATUSES, type RunStatus } from '@parley/protocol/resources/run-status.ts';
import type { UpdateObject } from 'kysely';
import { type Principal, seesWholeAccount } from '../../../../api/access/principal.ts';
import { IS_MEMBER } from '../../../../core/resources/membership.ts';
import { hasMuted } from '../../../../core/resources/participant.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Db, Tx } from '../../../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../../../platform/db/connection/keyset.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../../platform/db/tables/schema.ts';
import { touched } from '../../../../platform/db/tables/touched.ts';

/** Returns a run of this account. Throws ApiError `resource_not_found` (param id). */
export function findRun(db: Db, accountId: string, id: string): Promise<RunRow> {
  return ofAccount(db, accountId, id).executeTakeFirstOrThrow(runNotFound);
}

/** Returns a run like `findRun`, locked until the end of `tx`: decisions come one at a time. */
export function lockRun(tx: Tx, accountId: string, id: string): Promise<RunRow> {
  return ofAccount(tx, accountId, id).forUpdate().executeTakeFirstOrThrow(runNotFound);
}

/** Updates a locked run. `updated_at` grows, and the change is part of catch-up. */
export function updateRun(
  tx: Tx,
  id: string,
  fields: Omit<UpdateObject<Schema, 'agent_runs'>, 'updated_at' | 'changed_in'>,
): Promise<RunRow> {
  return tx.kysely
    .updateTable('agent_runs')
    .set({ ...fields, ...touched() })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Locks the runs that have not ended and that further conditions select. */
export function lockOpenRuns(tx: Tx) {
  return tx.kysely
    .selectFrom('agent_runs')
    .selectAll()
    .where('completed_at', 'is', null)
    .orderBy('id')
    .forUpdate();
}

/** Returns the runs of a conversation that have not ended. */
export async function readOpenRunsOf(
  db: Db,
  { id, account_id }: { readonly id: string; readonly account_id: string },
): Promise<string[]> {
  const rows = await db.query(READ_OPEN_OF_CONVERSATION, account_id, id);
  return rows.map((row) => row.id);
}

/** Filters for runs; absent ones match all. */
export interface RunFilters {
  readonly statuses?: readonly RunStatus[] | undefined;
  readonly triggerType?: RunTrigger | undefined;
  readonly agentId?: string | undefined;
  readonly conversationId?: string | undefined;
}

/** Returns the runs of the account that the caller may read, newest first. */
export function readRunPage(
  db: Db,
  principal: Principal,
  { statuses, triggerType, agentId, conversationId }: RunFilters,
  page: KeysetPage,
): Promise<RunRow[]> {
  const values = [
    principal.accountId,
    seesWholeAccount(principal),
    principal.actor.id,
    statuses ?? null,
    triggerType ?? null,
  ] as const;
  if (conversationId !== undefined) {
    return OF_CONVERSATION.readPage(db, [...values, conversationId, agentId ?? null], page);
  }
  if (agentId !== undefined) return OF_AGENT.readPage(db, [...values, agentId], page);
  const areOpen = statuses?.every((status) => OPEN_STATUSES.some((open) => open === status)) ?? false;
  return (areOpen ? OPEN : OF_ACCOUNT).readPage(db, values, page);
}

/** A run that has ended, with the content of its notification and its alert. */
export type EndedRun = Pick<
  RunRow,
  'id' | 'account_id' | 'agent_id' | 'actor_id' | 'status' | 'error_message' | 'conversation_id'
> & {
  /** The agent's name. */
  readonly name: string | null;
  /** The output's `text`, if it has one. */
  readonly text: string | null;
  readonly completed_at: string;
  /** The user to notify; null if there is none. */
  readonly notified_id: string | null;
};

/** Returns an ended run, undefined if the run has not ended. */
export async function readEndedRun(db: Db, id: string): Promise<EndedRun | undefined> {
  const [run] = await db.query(READ_ENDED, id);
  return run;
}

/**
 * Returns SQL: the rule of `readablePlace` (access.ts) for run `r`, an actor without full access.
 */
function isReadableBy(actor: string): string {
  return `(r.conversation_id IS NULL OR EXISTS (
      SELECT FROM participants p
      WHERE p.conversation_id = r.conversation_id AND p.actor_id = ${actor}
        AND p.${IS_MEMBER}))`;
}

/**
 * Returns the same rule for an actor of whom only the id is known: the user who triggered the run
 * is notified only while it holds.
 */
export function mayReceiveEvents(actor: string): string {
  return `(${isReadableBy(actor)} OR EXISTS (
      SELECT FROM actors o JOIN roles ON roles.id = o.role_id WHERE o.id = ${actor} AND roles.type = 'admin'))`;
}

function ofAccount(db: Db, accountId: string, id: string) {
  return db.kysely
    .selectFrom('agent_runs')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId);
}

export function runNotFound(): ApiError {
  return notFound('run', 'id');
}

type ListValues = readonly [
  accountId: string,
  seesWholeAccount: boolean,
  actorId: string,
  statuses: readonly string[] | null,
  triggerType: string | null,
];

/** One statement for each index of runs, because an index does not serve an optional condition. */
const OF_ACCOUNT = runList<ListValues>('account', 'true');
const OPEN = runList<ListValues>('account-open', 'r.completed_at IS NULL');
const OF_AGENT = runList<readonly [...ListValues, agentId: string]>('agent', 'r.agent_id = $6');
const OF_CONVERSATION = runList<readonly [...ListValues, conversationId: string, agentId: string | null]>(
  'conversation',
  'r.conversation_id = $6 AND ($7::text IS NULL OR r.agent_id = $7)',
);

function runList<Values extends ListValues | readonly [...ListValues, ...(string | null)[]]>(
  what: string,
  condition: string,
) {
  return keysetList<Values, RunRow>({
    name: `list-runs-of-${what}`,
    columns: 'r.*',
    from: 'agent_runs r',
    where: `r.account_id = $1 AND ${condition}
      AND ($2::boolean OR ${isReadableBy('$3')})
      AND NOT EXISTS (SELECT FROM conversations c WHERE c.id = r.conversation_id AND c.deleted_at IS NOT NULL)
      AND ($4::text[] IS NULL OR r.status = ANY($4))
      AND ($5::text IS NULL OR r.trigger_type = $5)`,
    key: [
      ['r.created_at', 'timestamptz'],
      ['r.id', 'text'],
    ],
  });
}

// The index of runs by their actor finds the open runs, whatever the number of ended runs.
const READ_OPEN_OF_CONVERSATION = statement<[accountId: string, conversationId: string], { id: string }>(
  'read-open-runs-of-conversation',
)`
    SELECT r.id FROM actors a JOIN agent_runs r ON r.actor_id = a.id AND r.completed_at IS NULL
    WHERE a.account_id = $1 AND a.type = 'agent' AND r.conversation_id = $2 ORDER BY r.id`;

// Only users of the account get notifications, and not of their own actions. An answer in the
// conversation of the run, or a reply that waits there for approval, notifies its readers itself.
const READ_ENDED = statement<[runId: string], EndedRun>('read-ended-run')`
    SELECT r.id, r.account_id, r.agent_id, r.actor_id, a.name, r.status, r.error_message, r.output->>'text' AS text,
      r.conversation_id, r.completed_at,
      CASE WHEN (r.status <> 'cancelled' OR r.cancelled_by IS DISTINCT FROM t.id) AND ${mayReceiveEvents('t.id')} AND NOT (
        r.status = 'completed' AND EXISTS (
          SELECT FROM messages m JOIN participants p ON p.conversation_id = m.conversation_id AND p.actor_id = t.id
          WHERE m.id = r.reply_message_id AND m.conversation_id = r.conversation_id AND m.deleted_at IS NULL
            AND p.${IS_MEMBER} AND NOT ${hasMuted('p')}))
        THEN t.id END AS notified_id
    FROM agent_runs r JOIN actors a ON a.id = r.actor_id
      LEFT JOIN actors t ON t.id = r.triggered_by AND t.type = 'user' AND NOT t.customer
    WHERE r.id = $1 AND r.completed_at IS NOT NULL`;
