import { RUN_MOVES } from '@parley/protocol/states/agent-run-states.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Database } from '../../../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import { LeasedRows } from '../../../../platform/db/queue/leased-rows.ts';
import { setTouched } from '../../../../platform/db/tables/touched.ts';
import type { RunDue } from './outbox-topics.ts';
import { enqueueRunUpdated } from './start.ts';

/**
 * How long a run belongs to its owner without renewal, in milliseconds. The runs of a killed node
 * end within this time and one round of another node's sweep.
 */
const LEASE_MS = 6_000;

/** After this many milliseconds any node may take a run that its creator has not claimed. */
const UNCLAIMED_MS = 1_000;

/** Runs that one sweep takes. */
const MAX_AT_ONCE = 100;

/** Runs that a node owns or may take. A run whose lease has run out is ended, not taken again. */
export const RUNS = new LeasedRows<
  Pick<RunRow, 'id' | 'fence'>,
  RunRow,
  [ids: readonly string[], node: string],
  object,
  { readonly cancel_requested: boolean }
>({
  name: 'agent-runs',
  table: 'agent_runs',
  key: ['id'],
  due: 'lease_until',
  fence: 'fence',
  owner: 'owner',
  open: `q.status = 'running' AND q.owner IS NOT NULL`,
  take: {
    from: `agent_runs q WHERE q.id = ANY($2) AND q.owner IS NULL AND q.status IN ('pending', 'running')`,
    set: `owner = $3, status = 'running', started_at = coalesce(q.started_at, clock_timestamp()),
      ${setTouched('later_than(q.updated_at)')}`,
    returning: 'q.*',
  },
  shown: 'q.cancel_requested_at IS NOT NULL AS cancel_requested',
});

/**
 * Takes a run that waits for a node. The row's `owner` and `fence` name the claim until the lease
 * runs out. Returns undefined if the run does not wait any more.
 */
export function takeRun(database: Database, node: string, id: string): Promise<RunRow | undefined> {
  return database.transaction(async (tx) => {
    const [taken] = await RUNS.take(tx, LEASE_MS, [id], node);
    if (taken !== undefined) await enqueueRunUpdated(tx, taken);
    return taken;
  });
}

/** Renews the leases of this node's runs. It has lost the runs that are missing from the result. */
export function renewRuns(db: Db, runs: readonly RunRow[]) {
  return RUNS.renew(db, runs, LEASE_MS);
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

/** The overdue work on the runs of this database. */
export interface Overdue {
  /** Runs unclaimed in time (creator dead or full), oldest first per account, accounts in turn. */
  readonly unclaimed: readonly RunDue[];
  /** Whether a run's lease has run out. */
  readonly dead: boolean;
  /** Whether a call was not decided in time. */
  readonly undecided: boolean;
}

/** Returns all overdue work in one statement, because a round nearly always finds none. */
export async function findOverdue(db: Db): Promise<Overdue> {
  const [overdue] = await db.query(FIND_OVERDUE);
  return overdue!;
}

/** Locks and returns a run whose lease has run out, except `alive`, which run on this node. */
export async function lockDead(tx: Tx, alive: readonly string[]): Promise<RunRow | undefined> {
  const [dead] = await tx.query(LOCK_DEAD, alive);
  return dead;
}

const LOCK_DEAD = statement<[alive: readonly string[]], RunRow>('lock-dead-agent-run')`
    SELECT * FROM agent_runs
    WHERE status = '${RUN_MOVES.start.to}' AND owner IS NOT NULL AND lease_until < clock_timestamp()
      AND id <> ALL($1)
    ORDER BY created_at LIMIT 1
    FOR UPDATE SKIP LOCKED`;

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

const FIND_OVERDUE = statement<[], Overdue>('find-overdue-agent-runs')`
    SELECT (
      SELECT coalesce(jsonb_agg(due), '[]') FROM (
        SELECT jsonb_build_object('run_id', id, 'account_id', account_id) AS due FROM (
          SELECT id, account_id, row_number() OVER (PARTITION BY account_id ORDER BY created_at, id) AS place
          FROM agent_runs
          WHERE ${UNCLAIMED}
        ) AS waiting ORDER BY place, id LIMIT ${MAX_AT_ONCE}
      ) AS first
    ) AS unclaimed, ${HAS_DEAD} AS dead, ${HAS_UNDECIDED} AS undecided`;
