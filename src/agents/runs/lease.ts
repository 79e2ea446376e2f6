import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import type { Db, Tx } from '../../db/handle.ts';
import { RUN_MOVES } from '../../protocol/states/agent-run-states.ts';
import type { RunRow } from '../rows.ts';
import type { RunDue } from './outbox-topics.ts';
import { enqueueRunUpdated } from './start.ts';
import { updateRun } from './store.ts';

/**
 * How long a run is its owner's without renewal, in milliseconds. A node that is killed has its runs ended within
 * this and one round of another node's sweep.
 */
const LEASE_MS = 6_000;

/** A run that was not taken up by the node that made it, after so long, is anybody's. */
const UNCLAIMED_MS = 1_000;

/** Runs that a sweep takes at a time. */
const MAX_AT_ONCE = 100;

/**
 * Makes a run that waits for a node this node's: `owner` and `fence` of the row say so from now on, until the lease
 * runs out. Undefined where it does not wait any more.
 */
export function claimRun(database: Database, node: string, id: string): Promise<RunRow | undefined> {
  return database.transaction(async (tx) => {
    const waiting = await tx.kysely
      .selectFrom('agent_runs')
      .selectAll()
      .where('id', '=', id)
      .where('owner', 'is', null)
      .where('status', 'in', [...RUN_MOVES.start.from, RUN_MOVES.start.to])
      .forUpdate()
      .skipLocked()
      .executeTakeFirst();
    if (waiting === undefined) return undefined;
    const claimed = await updateRun(tx, id, {
      status: RUN_MOVES.start.to,
      owner: node,
      fence: waiting.fence + 1,
      lease_until: sql<string>`clock_timestamp() + ${sql.lit(`${LEASE_MS} ms`)}::interval`,
      started_at: sql<string>`coalesce(started_at, clock_timestamp())`,
    });
    await enqueueRunUpdated(tx, claimed);
    return claimed;
  });
}

/** What identifies a claim: whoever holds another fence, or none, may change nothing. */
export type RunClaim = Pick<RunRow, 'id' | 'owner' | 'fence'>;

/** The run, locked, if the claim still holds. */
export function lockClaimed(tx: Tx, { id, owner, fence }: RunClaim): Promise<RunRow | undefined> {
  return tx.kysely
    .selectFrom('agent_runs')
    .selectAll()
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('fence', '=', fence)
    .where('status', '=', RUN_MOVES.start.to)
    .forUpdate()
    .executeTakeFirst();
}

export interface Renewed {
  readonly id: string;
  readonly fence: number;
  readonly cancel_requested: boolean;
}

/** Renews what this node holds of these runs; those that do not come back are not its any more. */
export function renewLeases(db: Db, node: string, ids: readonly string[]): Promise<Renewed[]> {
  return db.query<Renewed>(RENEW, [node, ids]);
}

/** What runs of this database wait for. */
export interface Overdue {
  /** Runs that were not taken up at once: their maker died, or was full. Of each account the oldest first, all in turn. */
  readonly unclaimed: readonly RunDue[];
  /** Whether there is one whose lease has run out. */
  readonly dead: boolean;
  /** Whether there is a call that nobody decided in time. */
  readonly undecided: boolean;
}

/** One statement for all that a round looks for: nearly always there is nothing. */
export async function findOverdue(db: Db): Promise<Overdue> {
  const [overdue] = await db.query<Overdue>(FIND_OVERDUE);
  return overdue!;
}

/** Locks a run whose owner has let its lease run out, until the end of `tx`; `alive`: runs of which it is known better. */
export function lockDead(tx: Tx, alive: readonly string[]): Promise<RunRow | undefined> {
  return tx.kysely
    .selectFrom('agent_runs')
    .selectAll()
    .where('status', '=', RUN_MOVES.start.to)
    .where('owner', 'is not', null)
    .where('lease_until', '<', sql<string>`clock_timestamp()`)
    .where('id', '<>', sql<string>`ALL(${[...alive]})`)
    .orderBy('created_at')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
}

const RENEW = {
  name: 'renew-agent-run-leases',
  text: `
    UPDATE agent_runs SET lease_until = clock_timestamp() + interval '${LEASE_MS} ms'
    WHERE id = ANY($2) AND owner = $1 AND status = 'running'
    RETURNING id, fence, cancel_requested_at IS NOT NULL AS cancel_requested`,
};

const FIND_OVERDUE = {
  name: 'find-overdue-agent-runs',
  text: `
    SELECT (
      SELECT coalesce(jsonb_agg(due), '[]') FROM (
        SELECT jsonb_build_object('run_id', id, 'account_id', account_id) AS due FROM (
          SELECT id, account_id, row_number() OVER (PARTITION BY account_id ORDER BY created_at, id) AS place
          FROM agent_runs
          WHERE status IN ('pending', 'running') AND owner IS NULL
            AND updated_at < clock_timestamp() - interval '${UNCLAIMED_MS} ms'
        ) AS waiting ORDER BY place, id LIMIT ${MAX_AT_ONCE}
      ) AS first
    ) AS unclaimed, EXISTS (
      SELECT FROM agent_runs
      WHERE status IN ('pending', 'running') AND owner IS NOT NULL AND lease_until < clock_timestamp()
    ) AS dead, EXISTS (
      SELECT FROM agent_run_actions WHERE status = 'pending_review' AND expires_at <= statement_timestamp()
    ) AS undecided`,
};
