import { isUnavailable } from '../../db/unavailable.ts';
import { ApiError } from '../../protocol/errors.ts';
import { ModelError } from '../models/model.ts';

/** Why a run does not go on here. */
export class Stop extends Error {
  /** `lost`: it is another node's, or nobody's: nothing may be changed any more. */
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

/** The run cannot go on, for a reason that people are told. */
export class RunFailure extends Error {}

/** Whether an error is part of what runs come to; any other one is a fault of ours. */
export function isExpected(error: unknown): error is Error {
  return [Stop, RunFailure, ModelError, ApiError].some((kind) => error instanceof kind);
}

/** One line for people. What drivers and libraries say is not for them: it names addresses, tables and keys. */
export function whyOf(error: unknown): string {
  if (isExpected(error)) return error.message;
  if (isUnavailable(error)) return 'The service was not available for a moment.';
  return 'Something went wrong inside the service.';
}
