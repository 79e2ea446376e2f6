import { isUnavailable } from '../db/unavailable.ts';
import { EngineUnavailableError } from '../engine/engine.ts';
import type { Logger } from '../log.ts';
import { ApiError, toErrorObject } from '../protocol/errors.ts';

export interface FailuresOptions {
  readonly docsUrl: string;
  readonly requestLogUrl: string | null;
  readonly log: Logger;
}

/** What anything that was thrown is to the caller: the one place that decides it. */
export class ErrorMapper {
  readonly #docsUrl: string;
  readonly #requestLogUrl: string | null;
  readonly #log: Logger;

  constructor({ docsUrl, requestLogUrl, log }: FailuresOptions) {
    this.#docsUrl = docsUrl;
    this.#requestLogUrl = requestLogUrl;
    this.#log = log;
  }

  /** `context` goes into the log beside what is not the caller's business. */
  toApiError(thrown: unknown, context: Readonly<Record<string, unknown>>): ApiError {
    if (thrown instanceof ApiError) {
      if (thrown.status >= 500 && thrown.cause !== undefined) {
        this.#log.warn({ ...context, err: thrown.cause }, `answered ${thrown.condition}`);
      }
      return thrown;
    }
    if (isUnavailable(thrown) || thrown instanceof EngineUnavailableError) {
      this.#log.warn({ ...context, err: thrown }, 'answered service_unavailable');
      const message = 'The service is temporarily unavailable.';
      return new ApiError('service_unavailable', message, { retryAfterS: 1, cause: thrown });
    }
    this.#log.error({ ...context, err: thrown }, 'answered internal_error');
    return new ApiError('internal_error', 'Something went wrong on our side.', { cause: thrown });
  }

  /** The JSON of the error envelope (docs/contract.md#errors). */
  toBody(error: ApiError): string {
    return JSON.stringify({ error: toErrorObject(error, this.#docsUrl, this.#requestLogUrl) });
  }
}
