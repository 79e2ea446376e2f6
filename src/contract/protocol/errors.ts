/**
 * The error table (docs/contract.md#errors): every condition that a caller can meet, over REST or a
 * socket. It is a plain table so that the SDK can include it.
 */
export const ERRORS = {
  expired_token: { type: 'invalid_request_error', transient: false, status: 401 },
  api_key_expired: { type: 'invalid_request_error', transient: false, status: 401 },
  api_key_revoked: { type: 'invalid_request_error', transient: false, status: 401 },
  invalid_credentials: { type: 'invalid_request_error', transient: false, status: 401 },
  insufficient_permissions: { type: 'invalid_request_error', transient: false, status: 403 },
  payment_required: { type: 'invalid_request_error', transient: false, status: 402 },
  limit_exceeded: { type: 'invalid_request_error', transient: false, status: 403 },
  registration_closed: { type: 'invalid_request_error', transient: false, status: 403 },
  validation_failed: { type: 'invalid_request_error', transient: false, status: 422 },
  payload_too_large: {
    type: 'invalid_request_error',
    transient: false,
    status: 413,
    code: 'validation_failed',
  },
  unsupported_media_type: {
    type: 'invalid_request_error',
    transient: false,
    status: 415,
    code: 'invalid_format',
  },
  head_too_large: {
    type: 'invalid_request_error',
    transient: false,
    status: 431,
    code: 'invalid_format',
  },
  upgrade_required: {
    type: 'invalid_request_error',
    transient: false,
    status: 426,
    code: 'invalid_format',
  },
  missing_field: { type: 'invalid_request_error', transient: false, status: 400 },
  invalid_format: { type: 'invalid_request_error', transient: false, status: 400 },
  method_not_allowed: { type: 'invalid_request_error', transient: false, status: 405 },
  parameter_missing: { type: 'invalid_request_error', transient: false, status: 400 },
  parameter_invalid: { type: 'invalid_request_error', transient: false, status: 400 },
  parameter_unknown: { type: 'invalid_request_error', transient: false, status: 400 },
  parameters_exclusive: { type: 'invalid_request_error', transient: false, status: 400 },
  resource_not_found: { type: 'invalid_request_error', transient: false, status: 404 },
  resource_exists: {
    type: 'invalid_request_error',
    transient: false,
    status: 409,
    anchor: 'resource_conflict',
  },
  resource_conflict: { type: 'invalid_request_error', transient: false, status: 409 },
  resource_gone: { type: 'invalid_request_error', transient: false, status: 410 },
  idempotency_in_progress: { type: 'idempotency_error', transient: true, status: 409 },
  idempotency_key_reused: {
    type: 'idempotency_error',
    transient: false,
    status: 422,
    code: 'validation_failed',
  },
  rate_limit_exceeded: { type: 'invalid_request_error', transient: true, status: 429 },
  api_version_required: { type: 'invalid_request_error', transient: false, status: 400 },
  api_version_invalid: { type: 'invalid_request_error', transient: false, status: 400 },
  api_version_too_old: { type: 'invalid_request_error', transient: false, status: 400 },
  internal_error: { type: 'api_error', transient: true, status: 500 },
  service_unavailable: { type: 'api_error', transient: true, status: 503 },
  external_service_error: { type: 'api_error', transient: true, status: 502 },
  timeout: { type: 'api_error', transient: true, status: 504 },
  connection_error: { type: 'api_error', transient: true, status: 502 },
  request_timeout: { type: 'api_error', transient: true, status: 408 },
  client_closed_request: { type: 'api_error', transient: false, status: 499 },
} as const satisfies Record<string, ErrorEntry>;

interface ErrorEntry {
  readonly type: 'invalid_request_error' | 'api_error' | 'idempotency_error';
  readonly transient: boolean;
  readonly status: number;
  /** The code on the wire, if two conditions share one. */
  readonly code?: string;
  /** The documentation anchor, if it is not the code. */
  readonly anchor?: string;
}

/** A condition of the table. Most conditions are their own code on the wire. */
export type ErrorCondition = keyof typeof ERRORS;

/** Present with `limit_exceeded` only (docs/contract.md#errors). */
export interface Quota {
  readonly limit: number;
  readonly used: number;
  readonly reset_at: string | null;
}

/** The value of `error` in every error answer, over REST and in socket replies alike. */
export interface ErrorObject {
  readonly code: string;
  readonly type: ErrorEntry['type'];
  readonly message: string;
  readonly param: string | null;
  readonly doc_url: string;
  readonly is_transient: boolean;
  readonly quota?: Quota;
  readonly request_log_url: string | null;
}

export interface ErrorDetails {
  /** The offending field, parameter or header. */
  readonly param?: string | null;
  readonly quota?: Quota;
  /** Seconds for the Retry-After header. */
  readonly retryAfterS?: number;
  readonly cause?: unknown;
}

/** Thrown by any layer to refuse a request; any other thrown value becomes an `internal_error`. */
export class ApiError extends Error {
  readonly condition: ErrorCondition;
  readonly param: string | null;
  readonly quota: Quota | undefined;
  readonly retryAfterS: number | undefined;

  constructor(condition: ErrorCondition, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ApiError';
    this.condition = condition;
    this.param = details.param ?? null;
    this.quota = details.quota;
    this.retryAfterS = details.retryAfterS;
  }

  get status(): number {
    return ERRORS[this.condition].status;
  }
}

/**
 * Returns the refusal for a resource that does not exist or is hidden from the caller; both get the
 * same answer.
 */
export function notFound(noun: string, param: string | null = null): ApiError {
  return new ApiError('resource_not_found', `There is no such ${noun}.`, { param });
}

/** Returns the refusal of a value that breaks a rule. */
export function invalid(param: string, message: string): ApiError {
  return new ApiError('validation_failed', message, { param });
}

/** Returns the refusal of an item that an earlier item of its list repeats. */
export function repeated(param: string): ApiError {
  return invalid(param, 'This is in the list twice. Leave the second one out.');
}

/** Returns the refusal of a body or frame without a field that it needs. */
export function missingField(param: string | null, message = 'This field is required.'): ApiError {
  return new ApiError('missing_field', message, { param });
}

/** Returns the refusal for what should work again in a moment. */
export function unavailable(message: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', message, { retryAfterS: 1, cause });
}

/** Returns the refusal of an actor that was deactivated, where one is to be chosen that can act. */
export function deactivatedActor(param: string): ApiError {
  return invalid(param, 'This actor is deactivated. Activate it first, or choose another one.');
}

/**
 * Returns the refusal of a new resource with a value that another one of the account has. `field`:
 * as people call it.
 */
export function alreadyExists(noun: string, param: string, field: string = param): ApiError {
  const message = `Another ${noun} of the account has this ${field}. Choose another one.`;
  return new ApiError('resource_exists', message, { param });
}

/** Returns the refusal of a change that needs an active conversation. */
export function conversationArchived(): ApiError {
  const message = 'The conversation is archived. Set its status to active first.';
  return new ApiError('resource_conflict', message);
}

/**
 * `docsUrl` and `requestLogUrl` come from the configuration; `requestLogUrl` is null if there is no
 * log to link to.
 */
export function toErrorObject(error: ApiError, docsUrl: string, requestLogUrl: string | null): ErrorObject {
  const entry: ErrorEntry = ERRORS[error.condition];
  const code = entry.code ?? error.condition;
  return {
    code,
    type: entry.type,
    message: error.message,
    param: error.param,
    doc_url: `${docsUrl}/api/errors#${entry.anchor ?? code}`,
    is_transient: entry.transient,
    ...(error.quota === undefined ? {} : { quota: error.quota }),
    request_log_url: requestLogUrl,
  };
}
