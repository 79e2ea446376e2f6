import { ApiError } from '../../../../contract/protocol/errors.ts';
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
