import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { IncompleteReason } from '@parley/protocol/resources/agent-run.ts';
import { isUnavailable } from '../../../../platform/db/connection/unavailable.ts';
import { ModelError } from '../../models/model.ts';

/** The reason why a run does not continue on this node. */
export class Stop extends Error {
  /** `lost` means that this node no longer owns the run and must not change anything any more. */
  readonly reason: 'cancelled' | 'stopping' | 'lost';

  constructor(reason: Stop['reason']) {
    super(`The run was ${STOPS[reason]}.`);
    this.name = 'Stop';
    this.reason = reason;
  }
}

const STOPS = {
  cancelled: 'cancelled',
  stopping: 'broken off, as the server was stopped',
  lost: 'taken from the server',
} as const;

/** The run cannot continue, for a reason that is shown to people. */
export class RunFailure extends Error {}

/** Returns whether an error is an expected outcome of a run; any other error is our defect. */
export function isExpected(error: unknown): error is Error {
  return [Stop, RunFailure, ModelError, ApiError].some((kind) => error instanceof kind);
}

/** Returns one line for people, without library messages: they name addresses, tables and keys. */
export function reasonOf(error: unknown): string {
  if (isExpected(error)) return error.message;
  if (isUnavailable(error)) return 'The service was not available for a moment.';
  return 'Something went wrong inside the service.';
}

/** Returns why the text of a run that ends with this error is not whole. */
export function cutBy(error: unknown): IncompleteReason {
  return error instanceof ModelError && error.reason === 'refused' ? 'content_filter' : 'error';
}

/**
 * Retries work while Postgres is unavailable: the text of a model is worth some seconds of waiting.
 * Work that was committed although its answer was lost is not done twice: fences, states and keys
 * reject it. `signal` ends the wait when the server stops.
 */
export async function untilBack<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (const beganMs = performance.now(); ; await delay(AGAIN_MS)) {
    try {
      return await work();
    } catch (error) {
      const isStopping = signal.reason instanceof Stop && signal.reason.reason === 'stopping';
      if (isStopping || !isUnavailable(error) || performance.now() - beganMs > MAX_MS) throw error;
    }
  }
}

const MAX_MS = 30_000;
const AGAIN_MS = 500;
