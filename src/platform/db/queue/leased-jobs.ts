import { ApiError } from '@parley/protocol/errors/errors.ts';
import { type Backoff, delayAfter } from '../../backoff.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../connection/database.ts';
import type { DueWatch } from './due-watch.ts';
import type { LeasedRows } from './leased-rows.ts';
import { type RemindedRows, Reminders } from './reminders.ts';

/** A row of work that takes longer than a request. */
export interface LeasedJob {
  readonly id: string;
  /** Grows whenever a node takes it, so that a node that has lost it changes nothing. */
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
  readonly rows: LeasedRows<
    Pick<Row, 'id' | 'fence'>,
    Row,
    [ids: readonly string[]],
    { readonly status: 'queued' }
  >;
  readonly reminded: RemindedRows<Pick<Row, 'id'>>;
  /** Does the whole work of a job and ends its row. It is called again after it has rejected. */
  run(job: Row, context: JobContext): Promise<void>;
  /** Ends a job that has failed as often as it may. `error` is the code of an error. */
  fail(job: Row, error: string): Promise<void>;
}

interface RunsOn {
  readonly database: Database;
  readonly log: Logger;
}

/**
 * Runs jobs of a kind, one at a time per node, so that they never keep the queue's workers from due
 * messages. The job of a killed node starts over on another node after its lease; writes of an
 * attempt that lost its job have no effect.
 */
export class JobRunner<Row extends LeasedJob> {
  readonly #kind: JobKind<Row>;
  readonly #options: RunsOn;
  readonly #reminders: Reminders<Pick<Row, 'id'>>;
  readonly #stop = new AbortController();
  #current: Promise<void> | undefined;

  constructor(kind: JobKind<Row>, options: RunsOn & { readonly watch: Pick<DueWatch, 'add'> }) {
    this.#kind = kind;
    this.#options = options;
    this.#reminders = new Reminders(kind.reminded, options);
  }

  /** Runs a job that is due. If this node is busy, a reminder adds the job again later. */
  async due(id: string): Promise<void> {
    if (this.#current !== undefined || this.#stop.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#current = promise;
    try {
      await runJob(this.#kind, this.#options, id, this.#stop.signal);
    } finally {
      this.#current = undefined;
      resolve();
      this.#reminders.wake();
    }
  }

  /** Gives the running job back, so that another node takes it at once. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the node stops'));
    await this.#current;
    await this.#reminders.close();
  }
}

/**
 * Takes a job, if no other node has it, and runs it once with its lease renewed. Gives it back when
 * `stop` aborts. Returns whether it was taken.
 */
export async function runJob<Row extends LeasedJob>(
  kind: JobKind<Row>,
  { database, log }: RunsOn,
  id: string,
  stop: AbortSignal,
): Promise<boolean> {
  const { name, rows, run, fail } = kind;
  const [job] = await rows.take(database, LEASE_MS, [id]);
  if (job === undefined) return false;
  const { fence, attempts } = job;
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
    await run(job, { signal, progress });
  } catch (error) {
    if (lost.signal.aborted) return true;
    if (stop.aborted) {
      await rows.release(database, [job]);
      return true;
    }
    const due_in_ms = delayAfter(RETRIES, attempts);
    if (due_in_ms === null) await fail(job, error instanceof ApiError ? error.condition : 'internal_error');
    else await rows.settle(database, [{ id, fence, due_in_ms, status: 'queued' } as const]);
    log.warn({ err: error, job: id, attempts }, `${name} failed`);
  } finally {
    clearInterval(heartbeat);
  }
  return true;
}

/** A node that has not renewed its lease for this long counts as gone. */
const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 1_000;
const RETRIES: Backoff = { delaysMs: [0, 2_000, 4_000, 8_000, 16_000] };
