import { ApiError } from '@parley/protocol/errors/errors.ts';
import { type Backoff, delayAfter } from '../../backoff.ts';
import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../connection/database.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from './due-watch.ts';
import { LeasedRows } from './leased-rows.ts';

/** A row of work that takes longer than a request. */
export interface LeasedJob {
  readonly id: string;
  /** Grows whenever a node takes the job, so that a node that has lost it changes nothing. */
  readonly fence: number;
  readonly attempts: number;
}

/** The link between a job's work and what runs it. */
export interface JobContext {
  /** Aborts when the node stops or another node has taken the job over: the work must end soon. */
  readonly signal: AbortSignal;
  /** Sets the progress, which is stored with the next renewal of the lease. */
  progress(done: number, total: number): void;
}

export interface JobKind<Row extends LeasedJob> {
  /** For the log, as in `a compliance job`. */
  readonly name: string;
  readonly queue: JobQueue<Row>;
  /** Does the whole work of a job and ends its row. It is called again after it has rejected. */
  run(job: Row, context: JobContext): Promise<void>;
  /** Ends a job that has failed as often as it may. `error` is the code of an error. */
  fail(job: Row, error: string): Promise<void>;
}

/** The jobs of one table. */
interface JobQueue<Row extends LeasedJob> {
  /** Waiting jobs and jobs of dead processes, by their ids, or all that a node takes unasked. */
  readonly rows: LeasedRows<
    Pick<Row, 'id' | 'fence'>,
    Row,
    [ids: readonly string[] | null, limit: number],
    { readonly status: string }
  >;
  /** For the watch: the name in snake_case, and SQL for whether a row is due. */
  readonly watched: { readonly name: string; readonly condition: string };
}

interface JobTable {
  /** Its columns `status`, `attempts`, `fence` and `lease_until` are those of a job. */
  readonly table: string;
  /** The SQL type of the columns `done` and `total`. */
  readonly counts: 'integer' | 'bigint';
  /** SQL: which jobs `q` a node takes unasked. Default: all. */
  readonly unasked?: string;
  /** SQL: further assignments when a node takes a job, each behind a comma. */
  readonly begun?: string;
}

/** SQL: a job that has not ended. */
export const UNFINISHED = `status IN ('queued', 'running')`;

/** Returns the queue of a table whose rows are jobs. */
export function jobQueue<Row extends LeasedJob>({
  table,
  counts,
  unasked = 'true',
  begun = '',
}: JobTable): JobQueue<Row> {
  // A waiting job of the version before has no `lease_until`; that version begins it within two
  // seconds, or after its own `afterMs`.
  const due = `q.${UNFINISHED} AND coalesce(q.lease_until, q.updated_at + interval '2 seconds') <= statement_timestamp()`;
  const touched = 'updated_at = clock_timestamp()';
  const rows: JobQueue<Row>['rows'] = new LeasedRows({
    name: table.replaceAll('_', '-'),
    table,
    key: ['id'],
    due: 'lease_until',
    fence: 'fence',
    open: `q.${UNFINISHED}`,
    take: {
      from: `${table} q WHERE ${due} AND (q.id = ANY($2) OR $2 IS NULL AND ${unasked}) ORDER BY q.created_at LIMIT $3`,
      set: `status = 'running', attempts = q.attempts + 1, ${touched}${begun}`,
      returning: 'q.*',
    },
    renew: { columns: { done: counts, total: counts }, set: touched },
    release: { set: `status = 'queued', attempts = greatest(q.attempts - 1, 0), ${touched}` },
    settle: { columns: { status: 'text' }, set: touched, where: `q.status = 'running'` },
    since: 'q.created_at',
  });
  const condition = `EXISTS (SELECT FROM ${table} q WHERE ${due} AND ${unasked})`;
  return { rows, watched: { name: table, condition } };
}

interface RunsOn {
  readonly database: Database;
  readonly log: Logger;
}

/**
 * Runs jobs of a kind, one at a time per node, the oldest first. The job of a killed node starts
 * over on another node after its lease; writes of an attempt that lost its job have no effect.
 */
export class JobRunner<Row extends LeasedJob> {
  readonly #loop: Loop;
  readonly #stop = new AbortController();

  constructor(kind: JobKind<Row>, options: RunsOn & { readonly watch: Pick<DueWatch, 'add'> }) {
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: async () => {
        while (!this.#stop.signal.aborted && (await runJob(kind, options, null, this.#stop.signal)));
      },
      onError: (error) => options.log.warn({ err: error }, `running ${kind.name} failed`),
    });
    options.watch.add({ ...kind.queue.watched, onDue: () => this.#loop.wake() });
  }

  /** Gives the running job back, so that another node takes it at once. */
  close(): Promise<void> {
    this.#stop.abort(new Error('the node stops'));
    return this.#loop.close();
  }
}

/**
 * Takes the job of this id, or the oldest due job, unless another node has it, and runs it once
 * with its lease renewed. Gives it back when `stop` aborts. Returns whether a job was taken.
 */
export async function runJob<Row extends LeasedJob>(
  kind: JobKind<Row>,
  { database, log }: RunsOn,
  wantedId: string | null,
  stop: AbortSignal,
): Promise<boolean> {
  const { name, run, fail } = kind;
  const { rows } = kind.queue;
  const [job] = await rows.take(database, LEASE_MS, wantedId === null ? null : [wantedId], 1);
  if (job === undefined) return false;
  const { id, fence, attempts } = job;
  if (attempts > RETRIES.delaysMs.length) {
    // Nodes died, or its work was undone again and again.
    await fail(job, 'resource_conflict');
    return true;
  }
  const lost = new AbortController();
  const signal = AbortSignal.any([stop, lost.signal]);
  let [done, total] = [0, 0];
  const heartbeat = setInterval(() => {
    rows.renew(database, [{ ...job, done, total }], LEASE_MS).then(
      ({ length }) => length > 0 || lost.abort(new Error('the job was taken over')),
      // The lease allows for several failed renewals.
      () => undefined,
    );
  }, RENEW_EVERY_MS);
  const progress = (nowDone: number, nowTotal: number) => {
    [done, total] = [nowDone, nowTotal];
  };
  try {
    await run(job, { signal, progress }).finally(() => clearInterval(heartbeat));
  } catch (error) {
    if (lost.signal.aborted) return true;
    if (stop.aborted) {
      await rows.release(database, [job]);
      return true;
    }
    const due_in_ms = delayAfter(RETRIES, attempts);
    if (due_in_ms === null) await fail(job, error instanceof ApiError ? error.condition : 'internal_error');
    else await rows.settle(database, [{ id, fence, due_in_ms, status: 'queued' }]);
    log.warn({ err: error, job: id, attempts }, `${name} failed`);
  }
  return true;
}

/** A node that has not renewed its lease for this long counts as gone. */
const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 1_000;
const RETRIES: Backoff = { delaysMs: [0, 2_000, 4_000, 8_000, 16_000] };
