import { toErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { isUnavailable } from '../../platform/db/connection/unavailable.ts';
import { EngineUnavailableError } from '../../platform/engine/engine.ts';
import type { Logger } from '../../platform/log.ts';

export interface FailuresOptions {
  readonly docsUrl: string;
  /** `PARLEY_REQUEST_LOG_URL`, or null for no `request_log_url`. */
  readonly requestLogUrl: string | null;
}

/** Decides how a thrown value is answered; no other code does. */
export class ErrorMapper {
  readonly #options: FailuresOptions;

  constructor(options: FailuresOptions) {
    this.#options = options;
  }

  /** Logs nothing, because the cause of a failure is logged with its request. */
  map(thrown: unknown): ApiError {
    if (thrown instanceof ApiError) return thrown;
    if (isUnavailable(thrown) || thrown instanceof EngineUnavailableError) {
      const message = 'The service is temporarily unavailable.';
      return new ApiError('service_unavailable', message, { retryAfterS: 1, cause: thrown });
    }
    return new ApiError('internal_error', 'Something went wrong on our side.', { cause: thrown });
  }

  /** Returns the error envelope (docs/contract.md#errors); `requestId` is null if there is none. */
  toBody(error: ApiError, requestId: string | null = null): string {
    const { docsUrl, requestLogUrl } = this.#options;
    return JSON.stringify({
      error: toErrorObject(error, docsUrl, requestLogUrlOf(requestLogUrl, requestId)),
    });
  }
}

/**
 * Logs the cause of a server failure, which the answer does not have; as `error` if unforeseen.
 * Returns whether it logged anything.
 */
export function logFailure(log: Logger, error: ApiError, context: object): boolean {
  const { condition, cause, status } = error;
  if (status < 500 || (cause === undefined && condition !== 'internal_error')) return false;
  log[condition === 'internal_error' ? 'error' : 'warn']({ ...context, err: cause }, `answered ${condition}`);
  return true;
}

/** Puts the id in the place of `{request_id}`, or else after the base. */
function requestLogUrlOf(base: string | null, requestId: string | null): string | null {
  if (base === null || requestId === null) return null;
  return base.includes(PLACE) ? base.replaceAll(PLACE, requestId) : `${base}/${requestId}`;
}

const PLACE = '{request_id}';
