import { sql } from 'kysely';
import { RUN_MOVES } from '../../../contract/protocol/states/agent-run-states.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { RunDue } from './outbox-topics.ts';
import { updateRun } from './store.ts';

/**
 * How long a run belongs to its owner without renewal, in milliseconds. The runs of a killed node
 * end within this time and one round of another node's sweep.
 */
const LEASE_MS = 6_000;

/**
 * After this many milliseconds any node may take a run that the node that created it has not
 * claimed.
 */
const UNCLAIMED_MS = 1_000;

/** Runs that one sweep takes. */
const MAX_AT_ONCE = 100;

/**
 * Locks and returns a run that waits for a node; undefined if it does not wait, or another
 * transaction has locked it.
 */
export function lockWaiting(tx: Tx, id: string): Promise<RunRow | undefined> {
  return tx.kysely
    .selectFrom('agent_runs')
    .selectAll()
    .where('id', '=', id)
    .where('owner', 'is', null)
    .where('status', 'in', [...RUN_MOVES.start.from, RUN_MOVES.start.to])
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
}

/** Makes this node the owner of a locked run, under the next fence. */
export function updateOwner(tx: Tx, { id, fence }: RunRow, node: string): Promise<RunRow> {
  return updateRun(tx, id, {
    status: RUN_MOVES.start.to,
    owner: node,
    fence: fence + 1,
    lease_until: sql<string>`clock_timestamp() + ${sql.lit(`${LEASE_MS} ms`)}::interval`,
    started_at: sql<string>`coalesce(started_at, clock_timestamp())`,
  });
}

/** The identity of a claim. A node with another fence, or none, must not change the run. */
export type RunClaim = Pick<RunRow, 'id' | 'owner' | 'fence'>;

/** Returns the run, locked, if the claim still holds. */
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

/**
 * Renews the leases that this node holds on these runs. Runs that are missing from the result do
 * not belong to this node any more.
 */
export function renewLeases(db: Db, node: string, ids: readonly string[]): Promise<Renewed[]> {
  return db.query(RENEW, node, ids);
}

/** What the runs of this database wait for. */
export interface Overdue {
  /**
   * Runs that were not claimed in time: the node that created them died or was full. Oldest first
   * within an account, the accounts in turn.
   */
  readonly unclaimed: readonly RunDue[];
  /** Whether a run's lease has run out. */
  readonly dead: boolean;
  /** Whether a call was not decided in time. */
  readonly undecided: boolean;
}

/** One statement for everything that a round looks for, because it nearly always finds nothing. */
export async function findOverdue(db: Db): Promise<Overdue> {
  const [overdue] = await db.query(FIND_OVERDUE);
  return overdue!;
}

/**
 * Locks and returns a run whose owner has let its lease run out, until the end of `tx`. `alive`:
 * runs that this node knows to be running.
 */
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

const RENEW = statement<[node: string, ids: readonly string[]], Renewed>({
  name: 'renew-agent-run-leases',
  text: `
    UPDATE agent_runs SET lease_until = clock_timestamp() + interval '${LEASE_MS} ms'
    WHERE id = ANY($2) AND owner = $1 AND status = 'running'
    RETURNING id, fence, cancel_requested_at IS NOT NULL AS cancel_requested`,
});

const UNCLAIMED = `status IN ('pending', 'running') AND owner IS NULL
            AND updated_at < statement_timestamp() - interval '${UNCLAIMED_MS} ms'`;

const HAS_DEAD = `EXISTS (
      SELECT FROM agent_runs
      WHERE status IN ('pending', 'running') AND owner IS NOT NULL AND lease_until < statement_timestamp()
    )`;

const HAS_UNDECIDED = `coalesce((
      SELECT expires_at FROM agent_run_actions WHERE status = 'pending_review' ORDER BY expires_at LIMIT 1
    ) <= statement_timestamp(), false)`;

/** SQL: whether `findOverdue` would find any. */
export const HAS_OVERDUE = `EXISTS (SELECT FROM agent_runs WHERE ${UNCLAIMED}) OR ${HAS_DEAD} OR ${HAS_UNDECIDED}`;

const FIND_OVERDUE = statement<[], Overdue>({
  name: 'find-overdue-agent-runs',
  text: `
    SELECT (
      SELECT coalesce(jsonb_agg(due), '[]') FROM (
        SELECT jsonb_build_object('run_id', id, 'account_id', account_id) AS due FROM (
          SELECT id, account_id, row_number() OVER (PARTITION BY account_id ORDER BY created_at, id) AS place
          FROM agent_runs
          WHERE ${UNCLAIMED}
        ) AS waiting ORDER BY place, id LIMIT ${MAX_AT_ONCE}
      ) AS first
    ) AS unclaimed, ${HAS_DEAD} AS dead, ${HAS_UNDECIDED} AS undecided`,
});
