/**
 * The error table (docs/contract.md#errors): every condition that a caller can meet, over REST or a
 * socket. It is a plain table so that the SDK can include it.
 */
export const ERRORS = {
  expired_token: entry(401),
  api_key_expired: entry(401),
  api_key_revoked: entry(401),
  invalid_credentials: entry(401),
  insufficient_permissions: entry(403),
  payment_required: entry(402),
  limit_exceeded: entry(403),
  registration_closed: entry(403),
  validation_failed: entry(422),
  payload_too_large: entry(413, { code: 'validation_failed' }),
  unsupported_media_type: entry(415, { code: 'invalid_format' }),
  head_too_large: entry(431, { code: 'invalid_format' }),
  upgrade_required: entry(426, { code: 'invalid_format' }),
  missing_field: entry(400),
  invalid_format: entry(400),
  method_not_allowed: entry(405),
  parameter_missing: entry(400),
  parameter_invalid: entry(400),
  parameter_unknown: entry(400),
  parameters_exclusive: entry(400),
  resource_not_found: entry(404),
  resource_exists: entry(409, { anchor: 'resource_conflict' }),
  resource_conflict: entry(409),
  resource_gone: entry(410),
  account_in_other_cell: entry(421),
  idempotency_in_progress: entry(409, { type: 'idempotency_error', transient: true }),
  idempotency_key_reused: entry(422, { type: 'idempotency_error', code: 'validation_failed' }),
  rate_limit_exceeded: entry(429, { transient: true }),
  api_version_required: entry(400),
  api_version_invalid: entry(400),
  api_version_too_old: entry(400),
  internal_error: entry(500, { type: 'api_error', transient: true }),
  service_unavailable: entry(503, { type: 'api_error', transient: true }),
  external_service_error: entry(502, { type: 'api_error', transient: true }),
  timeout: entry(504, { type: 'api_error', transient: true }),
  connection_error: entry(502, { type: 'api_error', transient: true }),
  request_timeout: entry(408, { type: 'api_error', transient: true }),
  client_closed_request: entry(499, { type: 'api_error' }),
};

interface ErrorEntry {
  readonly type: 'invalid_request_error' | 'api_error' | 'idempotency_error';
  readonly transient: boolean;
  readonly status: number;
  /** The code on the wire, if two conditions share one. */
  readonly code?: string;
  /** The documentation anchor, if it is not the code. */
  readonly anchor?: string;
}

/** Returns an entry, by default for a request that would be refused again. */
function entry<const Rest extends Partial<ErrorEntry>>(status: number, rest?: Rest): ErrorEntry & Rest {
  return { type: 'invalid_request_error', transient: false, status, ...(rest as Rest) };
}

/** A condition of the table. Most conditions are their own code on the wire. */
export type ErrorCondition = keyof typeof ERRORS;

/** A `code` on the wire. */
export type ErrorCode = {
  [C in ErrorCondition]: (typeof ERRORS)[C] extends { readonly code: infer Code extends string } ? Code : C;
}[ErrorCondition];

/** Present with `limit_exceeded` only (docs/contract.md#errors). */
export interface Quota {
  readonly limit: number;
  readonly used: number;
  readonly reset_at: string | null;
}

export interface ErrorDetails {
  /** The offending field, parameter or header. */
  readonly param?: string | null;
  readonly quota?: Quota;
  /** The public URL of the installation that has the account. */
  readonly cellUrl?: string;
  /** Seconds for the Retry-After header. */
  readonly retryAfterS?: number;
  readonly cause?: unknown;
}

/** Thrown by any layer to refuse a request; any other thrown value becomes an `internal_error`. */
export class ApiError extends Error {
  readonly condition: ErrorCondition;
  readonly param: string | null;
  readonly quota: Quota | undefined;
  readonly cellUrl: string | undefined;
  readonly retryAfterS: number | undefined;

  constructor(condition: ErrorCondition, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ApiError';
    this.condition = condition;
    this.param = details.param ?? null;
    this.quota = details.quota;
    this.cellUrl = details.cellUrl;
    this.retryAfterS = details.retryAfterS;
  }

  get status(): number {
    return ERRORS[this.condition].status;
  }
}

/** Returns the refusal for a resource that does not exist, or is hidden: the answer is the same. */
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

/** Returns the refusal for an outage that should pass in a moment. */
export function unavailable(message: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', message, { retryAfterS: 1, cause });
}

/** Returns the refusal of a deactivated actor where an active one has to be chosen. */
export function deactivatedActor(param: string): ApiError {
  return invalid(param, 'This actor is deactivated. Activate it first, or choose another one.');
}

/** Returns the refusal of a credential whose actor has been deactivated. */
export function deactivatedCaller(): ApiError {
  const message = 'The actor behind this credential was deactivated. Use another credential.';
  return new ApiError('invalid_credentials', message);
}

/** Returns the refusal of a value that another resource has. `field`: as people call it. */
export function alreadyExists(noun: string, param: string, field: string = param): ApiError {
  const message = `Another ${noun} of the account has this ${field}. Choose another one.`;
  return new ApiError('resource_exists', message, { param });
}

/** Returns the refusal of a change that needs an active conversation. */
export function conversationArchived(): ApiError {
  const message = 'The conversation is archived. Set its status to active first.';
  return new ApiError('resource_conflict', message);
}
