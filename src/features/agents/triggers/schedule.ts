import type { SkipReason } from '@parley/protocol/resources/agent-run.ts';
import type { Selectable } from 'kysely';
import type { AgentRow } from '../../../core/resources/agent.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../../platform/db/queue/due-watch.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { Logger } from '../../../platform/log.ts';
import { startRun } from '../runs/state/start.ts';
import { type CronSchedule, dueBy } from './cron.ts';
import { insertOccurrences, type NewOccurrence } from './occurrence-store.ts';

/** The minimum interval between two rounds, in milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** An occurrence whose run starts more than this many milliseconds after its time ran late. */
const LATE_MS = 60_000;

/** An occurrence older than this many milliseconds is skipped as `too_late`. */
const TOO_LATE_MS = 24 * 60 * 60 * 1_000;

/** Maximum number of missed occurrences recorded for one outage; earlier ones leave no trace. */
const MAX_MISSED = 100;

/** Opens the loop that starts due schedules. Every node of a database has one. */
export function openSchedules(database: Database, watch: Pick<DueWatch, 'add'>, log: Logger): Loop {
  const loop = new Loop({
    intervalMs: UNWOKEN_EVERY_MS,
    async run(signal) {
      // A transaction is opened only if something is due.
      if ((await database.query(FIND_DUE)).length > 0) await takeDue(database, signal);
    },
    onError: (error) => log.warn({ err: error }, 'starting scheduled runs failed'),
  });
  watch.add({
    name: 'agent_schedules',
    condition: HAS_DUE,
    everyMs: LOOK_EVERY_MS,
    onDue: () => loop.wake(),
  });
  return loop;
}

/**
 * Starts due schedules and records the outcome of each occurrence (`agent_occurrences`): it ran,
 * ran late, or was skipped. It is skipped as `missed` (no node was running, and a newer one is due
 * as well), `too_late` (by more than a day), `overlap` (a run of the agent was still open) or
 * `unsubscribed` (the account has no active subscription). Only the newest occurrence runs. Each
 * occurrence is taken in one transaction with its run and the agent's next time, under the lock of
 * its definition, so neither two nodes nor a crash can duplicate or lose it. Times are those of
 * Postgres. Resolves when nothing is due. An occurrence that could not be taken stays due. The
 * promise then rejects after all others were tried: no account waits for another.
 */
export async function takeDue(database: Database, signal?: AbortSignal): Promise<void> {
  const failed = new Map<string, unknown>();
  while (signal?.aborted !== true) {
    let agent: DueAgent | undefined;
    try {
      await database.transaction(async (tx) => {
        agent = await lockDue(tx, [...failed.keys()]);
        if (agent !== undefined) await take(tx, agent);
      });
    } catch (error) {
      if (agent === undefined) throw error;
      failed.set(agent.id, error);
    }
    if (agent === undefined) break;
  }
  if (failed.size > 0)
    throw new AggregateError(failed.values(), `not taken: ${[...failed.keys()].join(', ')}`);
}

async function take(tx: Tx, agent: DueAgent): Promise<void> {
  const [since, now] = [new Date(agent.due), new Date(agent.now)];
  const schedule = agent.trigger_config as CronSchedule;
  const { newest, others, next } = await dueBy(schedule, { since, now, most: MAX_MISSED });
  const missed = others.map((due) => skipped(agent, due, 'missed'));
  const taken = await run(tx, agent, newest, now);
  await insertOccurrences(tx, [...missed, taken]);
  await tx.kysely
    .updateTable('agent_definitions')
    .set({ next_due_at: next?.toISOString() ?? null })
    .where('id', '=', agent.id)
    .execute();
}

async function run(tx: Tx, agent: DueAgent, due: Date, now: Date): Promise<NewOccurrence> {
  const lateMs = now.getTime() - due.getTime();
  if (lateMs > TOO_LATE_MS) return skipped(agent, due, 'too_late');
  // Its runs would fail, each with an alert.
  if (agent.subscription !== 'active') return skipped(agent, due, 'unsubscribed');
  const open = await tx.query(FIND_OPEN_RUN, agent.actor_id);
  if (open.length > 0) return skipped(agent, due, 'overlap');
  const due_at = due.toISOString();
  const started = await startRun(tx, agent, { type: 'scheduled', key: due_at, input: { due_at }, by: null });
  const outcome = lateMs > LATE_MS ? 'ran_late' : 'ran';
  return { agent_id: agent.id, due_at, outcome, reason: null, run_id: started?.id ?? null };
}

function skipped({ id }: DueAgent, due: Date, reason: SkipReason): NewOccurrence {
  return { agent_id: id, due_at: due.toISOString(), outcome: 'skipped', reason, run_id: null };
}

/** An agent whose schedule is due. */
type DueAgent = Pick<AgentRow, 'id' | 'account_id' | 'actor_id' | 'trigger_config'> & {
  readonly due: string;
  readonly now: string;
  readonly subscription: Selectable<Schema['accounts']>['subscription'] | null;
};

/** Locks and returns the agent that is due the longest, except locked ones and those in `but`. */
async function lockDue(tx: Tx, but: readonly string[]): Promise<DueAgent | undefined> {
  const [agent] = await tx.query(LOCK_DUE, but);
  return agent;
}

// The time of the statement, unlike clock_timestamp(), can be used in an index condition.
const LOCK_DUE = statement<[but: readonly string[]], DueAgent>('lock-due-agent')`
    SELECT d.id, d.account_id, d.actor_id, d.trigger_config, statement_timestamp() AS now, d.next_due_at AS due,
      (SELECT a.subscription FROM accounts a WHERE a.id = d.account_id) AS subscription
    FROM agent_definitions d
    WHERE d.next_due_at <= statement_timestamp() AND d.id <> ALL($1)
    ORDER BY d.next_due_at LIMIT 1
    FOR UPDATE SKIP LOCKED`;

const FIND_OPEN_RUN = statement<[actorId: string]>('find-open-run-of-agent')`
    SELECT FROM agent_runs WHERE actor_id = $1 AND completed_at IS NULL LIMIT 1`;

/** SQL: whether any schedule is due. */
const HAS_DUE = `(
    SELECT next_due_at FROM agent_definitions WHERE next_due_at IS NOT NULL ORDER BY next_due_at LIMIT 1
  ) <= statement_timestamp()`;

const FIND_DUE = statement('find-due-schedule')`SELECT WHERE ${HAS_DUE}`;
