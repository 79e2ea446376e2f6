import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { ErrorCode } from '@parley/protocol/errors/errors.ts';
import { CLIENT_ERRORS, type ClientErrorReason } from './client-error.ts';

/**
 * The server's code, or the cause of a missing answer: a reason of CLIENT_ERRORS, `client_closed`,
 * or `connection_ended` if the client will not connect again.
 */
export type ParleyErrorCode = ErrorCode | ClientErrorReason | 'client_closed' | 'connection_ended';

/** The details of a ParleyError; absent ones are false or null. */
export interface ParleyErrorDetails {
  readonly isTransient?: boolean;
  readonly retryAfterMs?: number | null;
  readonly status?: number | null;
  readonly error?: ErrorObject | null;
  readonly cause?: unknown;
}

/** The error of every call of the client that fails for a reason of its own or of the server. */
export class ParleyError extends Error {
  /** The condition, for programs to branch on. */
  readonly code: ParleyErrorCode;
  /** The field, parameter or header at fault; null where no single one is. */
  readonly param: string | null;
  /** Whether the same call may succeed later. */
  readonly isTransient: boolean;
  /** Milliseconds that the server asks to wait before another try; null if it does not say. */
  readonly retryAfterMs: number | null;
  /** The status of the HTTP answer; null without one, as for requests over the socket. */
  readonly status: number | null;
  /** The error object of the server; null if it sent none. */
  readonly error: ErrorObject | null;

  /** For tests and stand-ins of an application; `param` is that of `error`. */
  constructor(
    code: ParleyErrorCode,
    message: string,
    { isTransient = false, retryAfterMs = null, status = null, error = null, cause }: ParleyErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ParleyError';
    this.code = code;
    this.param = error?.param ?? null;
    this.isTransient = isTransient;
    this.retryAfterMs = retryAfterMs;
    this.status = status;
    this.error = error;
  }
}

/** Returns the error for a request that the server refused over the socket. */
export function refusal(error: ErrorObject): ParleyError {
  return new ParleyError(error.code as ErrorCode, error.message, { isTransient: error.is_transient, error });
}

/**
 * Returns the error for an HTTP answer that is no success; `error` is null if it is not Parley's,
 * as for a proxy's answer.
 */
export function refusedAnswer(
  status: number,
  error: ErrorObject | null,
  retryAfterMs: number | null,
): ParleyError {
  const isTransient = error?.is_transient ?? (status < 400 || status >= 500 || PASSING.has(status));
  const code = (error?.code as ErrorCode | undefined) ?? codeOfStatus(status);
  const message = error?.message ?? `The server answered with status ${status}.`;
  return new ParleyError(code, message, { isTransient, retryAfterMs, status, error });
}

/** Returns the error for a request that got no answer. */
export function lost(cause: unknown): ParleyError {
  if (cause instanceof ParleyError) return cause;
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new ParleyError('network', `${CLIENT_ERRORS.network} ${detail}`, { isTransient: true, cause });
}

export function closed(): ParleyError {
  return new ParleyError('client_closed', 'The client was closed. Create another one.');
}

/** Returns the reason of the `error` event for a try that failed. */
export function reasonOf({ code, status }: ParleyError): ClientErrorReason {
  if (code in CLIENT_ERRORS) return code as ClientErrorReason;
  return codeOfStatus(status ?? 500);
}

export function ended(): ParleyError {
  return new ParleyError('connection_ended', 'The client will not connect again.');
}

function codeOfStatus(status: number): ClientErrorReason {
  if (status === 401) return 'credential_rejected';
  if (PASSING.has(status) || status === 503) return 'server_busy';
  // Of another server, or of one that does not understand the request.
  return status < 500 ? 'protocol' : 'server_error';
}

/** Request Timeout, Too Early, Too Many Requests; proxies send them without an error object. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
