import { ApiError, toErrorObject } from '../../../contract/protocol/errors.ts';
import { isUnavailable } from '../../db/connection/unavailable.ts';
import { EngineUnavailableError } from '../../engine/engine.ts';
import type { Logger } from '../../log.ts';

export interface FailuresOptions {
  readonly docsUrl: string;
  /** PARLEY_REQUEST_LOG_URL, or null for no `request_log_url`. */
  readonly requestLogUrl: string | null;
}

/** What anything that was thrown is to the caller: the one place that decides it. */
export class ErrorMapper {
  readonly #docsUrl: string;
  readonly #requestLogUrl: string | null;

  constructor({ docsUrl, requestLogUrl }: FailuresOptions) {
    this.#docsUrl = docsUrl;
    this.#requestLogUrl = requestLogUrl;
  }

  /** Logs nothing: the cause of a failure is logged with the request it belongs to. */
  map(thrown: unknown): ApiError {
    if (thrown instanceof ApiError) return thrown;
    if (isUnavailable(thrown) || thrown instanceof EngineUnavailableError) {
      const message = 'The service is temporarily unavailable.';
      return new ApiError('service_unavailable', message, { retryAfterS: 1, cause: thrown });
    }
    return new ApiError('internal_error', 'Something went wrong on our side.', { cause: thrown });
  }

  /**
   * The JSON of the error envelope (docs/contract.md#errors). `requestId`: null for what is no
   * request of its own.
   */
  toBody(error: ApiError, requestId: string | null = null): string {
    const logUrl = requestLogUrlOf(this.#requestLogUrl, requestId);
    return JSON.stringify({ error: toErrorObject(error, this.#docsUrl, logUrl) });
  }
}

/**
 * Logs why the server failed to do what it was asked, which its answer does not say: `error` where
 * that was not foreseen. Returns whether there was anything to log.
 */
export function logFailure(log: Logger, error: ApiError, context: object): boolean {
  const { condition, cause, status } = error;
  if (status < 500 || (cause === undefined && condition !== 'internal_error')) return false;
  log[condition === 'internal_error' ? 'error' : 'warn']({ ...context, err: cause }, `answered ${condition}`);
  return true;
}

/**
 * The link to the log of one request: its id instead of `{request_id}`, or else behind the base.
 */
function requestLogUrlOf(base: string | null, requestId: string | null): string | null {
  if (base === null || requestId === null) return null;
  return base.includes(PLACE) ? base.replaceAll(PLACE, requestId) : `${base}/${requestId}`;
}

const PLACE = '{request_id}';
