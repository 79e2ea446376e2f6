import { type Selectable, sql } from 'kysely';
import type { AgentRow } from '../../../core/resources/agent.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

/** An agent whose schedule is due. */
export type DueAgent = Pick<AgentRow, 'id' | 'account_id' | 'actor_id' | 'trigger_config'> & {
  readonly due: string;
  readonly now: string;
  readonly subscription: Selectable<Schema['accounts']>['subscription'] | null;
};

/** Returns whether any schedule is due. */
export async function hasDue(db: Db): Promise<boolean> {
  return (await db.query(FIND_DUE)).length > 0;
}

/** Locks and returns the agent that is due the longest, except locked ones and those in `but`. */
export function lockDue(tx: Tx, but: readonly string[]): Promise<DueAgent | undefined> {
  // The time of the statement: unlike clock_timestamp(), it can be used in an index condition.
  const now = sql<string>`statement_timestamp()`;
  return tx.kysely
    .selectFrom('agent_definitions')
    .select(['id', 'account_id', 'actor_id', 'trigger_config', now.as('now')])
    .select((of) => of.ref('next_due_at').$notNull().as('due'))
    .select(({ selectFrom }) =>
      selectFrom('accounts')
        .select('subscription')
        .whereRef('accounts.id', '=', 'agent_definitions.account_id')
        .as('subscription'),
    )
    .where('next_due_at', '<=', now)
    .where('id', '<>', sql<string>`ALL(${[...but]})`)
    .orderBy('next_due_at')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
}

/** Stores when a locked agent is due next, or null if it never is. */
export async function updateNextDue(tx: Tx, agentId: string, next: string | null): Promise<void> {
  await tx.kysely
    .updateTable('agent_definitions')
    .set({ next_due_at: next })
    .where('id', '=', agentId)
    .execute();
}

/** SQL: whether any schedule is due. */
export const HAS_DUE = `(
    SELECT next_due_at FROM agent_definitions WHERE next_due_at IS NOT NULL ORDER BY next_due_at LIMIT 1
  ) <= statement_timestamp()`;

const FIND_DUE = statement('find-due-schedule')`SELECT WHERE ${HAS_DUE}`;
