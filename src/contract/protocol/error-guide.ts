import type { ErrorCondition } from './errors.ts';

/** The text about a condition on its documentation page and in the examples of OpenAPI. */
interface ErrorAdvice {
  /** When it happens. */
  readonly when: string;
  /** What its caller does about it. */
  readonly remedy: string;
  /** A `message` as it may read. */
  readonly message: string;
  /** A `param` that the error may name. */
  readonly param?: string;
}

/** Conditions and handling rules of the errors, in words for people (docs/contract.md#errors). */
export const ERROR_GUIDE: Readonly<Record<ErrorCondition, ErrorAdvice>> = {
  expired_token: {
    when: 'The access or refresh token has expired.',
    remedy: 'Refresh the access token, or sign in again where the refresh token has expired too.',
    message: 'The access token has expired.',
  },
  api_key_expired: {
    when: 'The API key is past its expiration date.',
    remedy: 'Use another key, or have an admin make one.',
    message: 'The API key has expired.',
  },
  api_key_revoked: {
    when: 'The API key was revoked, which is immediate and permanent.',
    remedy: 'Use another key, or have an admin make one.',
    message: 'The API key was revoked.',
  },
  invalid_credentials: {
    when: 'The credential is missing, malformed, unknown, or not one for this flow.',
    remedy: 'Send Authorization: Bearer with an API key or an access token.',
    message: 'The credential is not valid.',
  },
  insufficient_permissions: {
    when: 'The caller is known, and its role does not grant what the endpoint needs.',
    remedy: 'Have an admin change the role, or call with another credential.',
    message: 'The role behind this credential lacks messaging:update.',
  },
  payment_required: {
    when: "The account's subscription is not active enough.",
    remedy: 'Renew the subscription.',
    message: 'The subscription of the account is not active.',
  },
  limit_exceeded: {
    when: 'A limit of the plan is reached; `quota` says which.',
    remedy: 'Delete what is not needed, wait until `quota.reset_at` where there is one, or upgrade the plan.',
    message: 'The plan allows no more agents.',
  },
  registration_closed: {
    when: 'Public registration is at capacity for the plan or flow.',
    remedy: 'Try again another day, or ask for an invitation.',
    message: 'Registration is closed for now.',
  },
  validation_failed: {
    when: 'A value has the right type and breaks a rule: an enum, a range, a length, a business rule, or the field is unknown.',
    remedy: 'Correct the field that `param` names.',
    message: 'Must be one of: held, released.',
    param: 'legal_hold',
  },
  head_too_large: {
    when: 'The request line and the headers are larger than 16 KiB together.',
    remedy: 'Send fewer or shorter headers and parameters. The connection is closed.',
    message: 'Request line and headers are larger than 16384 bytes.',
  },
  upgrade_required: {
    when: 'GET /v1/realtime was called without asking for a WebSocket.',
    remedy: 'Open a WebSocket there; a proxy in front must pass the Upgrade and Connection headers on.',
    message: 'This endpoint opens a WebSocket. Send an upgrade request.',
  },
  payload_too_large: {
    when: 'The request body is larger than 256 KiB.',
    remedy: 'Send less at once; files go through an upload URL.',
    message: 'The body is larger than 262144 bytes.',
  },
  unsupported_media_type: {
    when: 'The Content-Type names something that the endpoint does not read: a body that is not JSON in UTF-8, or a mail that is not message/rfc822.',
    remedy: 'Send JSON with the Content-Type application/json, or without one.',
    message: 'Send JSON in UTF-8, with the Content-Type application/json.',
    param: 'Content-Type',
  },
  missing_field: {
    when: 'A required field of the JSON body is absent or null.',
    remedy: 'Send the field that `param` names.',
    message: 'This field is required.',
    param: 'legal_hold',
  },
  invalid_format: {
    when: 'A value has the wrong JSON type or not the format that is asked for, or the request itself is malformed.',
    remedy: 'Correct the field that `param` names; without one, the body is no JSON object.',
    message: 'Expected a JSON object.',
  },
  method_not_allowed: {
    when: 'There is such a route, but not for this method.',
    remedy: 'Use one of the methods in the Allow header.',
    message: 'This endpoint accepts GET, HEAD, OPTIONS.',
  },
  parameter_missing: {
    when: 'A required query parameter, path parameter or header is absent.',
    remedy: 'Send the parameter that `param` names.',
    message: 'The Service-Account header is missing.',
    param: 'Service-Account',
  },
  parameter_invalid: {
    when: "A parameter's value is outside its range or enum, or the cursor is broken or belongs to other filters.",
    remedy: 'Correct the parameter that `param` names; pass cursors back exactly as they came.',
    message: 'Must be at least 1.',
    param: 'limit',
  },
  parameter_unknown: {
    when: 'The endpoint has no such query parameter.',
    remedy: 'Leave it out.',
    message: 'There is no such parameter here.',
    param: 'page',
  },
  parameters_exclusive: {
    when: 'Two parameters that exclude each other were sent together.',
    remedy: 'Send one of them.',
    message: 'Send either cursor or page.',
    param: 'page',
  },
  resource_not_found: {
    when: 'The resource does not exist in the target account, or the caller may not see it: the two look the same.',
    remedy: 'Check the id and the Service-Account header.',
    message: 'There is no such conversation.',
    param: 'id',
  },
  resource_exists: {
    when: 'Another resource has the value that must be unique.',
    remedy: 'Choose another value, or use the resource that is there.',
    message: 'This slug is taken.',
    param: 'slug',
  },
  resource_conflict: {
    when: 'The request contradicts the current state of the resource or account.',
    remedy: 'Read the resource again, then decide whether the request still applies.',
    message: 'Cannot approve: the status is rejected.',
  },
  resource_gone: {
    when: 'The resource was deleted for good, or can no longer be changed.',
    remedy: 'Stop using it.',
    message: 'The message was deleted.',
    param: 'id',
  },
  idempotency_in_progress: {
    when: 'A request with the same Idempotency-Key is still being worked on.',
    remedy: 'Send it again with the same key after a short delay.',
    message: 'A request with this Idempotency-Key is in progress.',
    param: 'Idempotency-Key',
  },
  idempotency_key_reused: {
    when: 'The Idempotency-Key was used before, with another query or body.',
    remedy: 'Send the first request again exactly, or use a new key for a new operation.',
    message: 'This Idempotency-Key was used for a different request.',
    param: 'Idempotency-Key',
  },
  rate_limit_exceeded: {
    when: 'Requests come faster than the key, actor, account or address may send them.',
    remedy: 'Wait for as many seconds as Retry-After says.',
    message: 'Too many requests.',
  },
  api_version_required: {
    when: 'The Service-Version header is missing.',
    remedy: 'Send it with every request.',
    message: 'The Service-Version header is missing.',
    param: 'Service-Version',
  },
  api_version_invalid: {
    when: 'The Service-Version header names no supported version.',
    remedy: 'Send one of the versions that the message lists.',
    message: 'Supported versions are 1.0.harbor, 1.1.harbor, 1.2.harbor.',
    param: 'Service-Version',
  },
  api_version_too_old: {
    when: 'The endpoint came with a newer version than the one that was sent.',
    remedy: 'Read the changelog, then send the newer version.',
    message: 'This endpoint exists since 1.1.harbor.',
    param: 'Service-Version',
  },
  internal_error: {
    when: 'Something failed unexpectedly on our side.',
    remedy: 'Try again with growing, random delays; then report the Request-Id.',
    message: 'Something went wrong on our side.',
  },
  service_unavailable: {
    when: 'The service, or something that it depends on, is away for a moment.',
    remedy: 'Try again after Retry-After, with the same Idempotency-Key.',
    message: 'The service is temporarily unavailable.',
  },
  external_service_error: {
    when: 'A third party answered with an error.',
    remedy: 'Try again with growing, random delays.',
    message: 'The object storage answered with an error.',
  },
  timeout: {
    when: 'Something did not finish before its deadline.',
    remedy: 'Try again with growing, random delays and the same Idempotency-Key.',
    message: 'The work did not finish in time.',
  },
  connection_error: {
    when: 'Something that is needed could not be reached.',
    remedy: 'Try again with growing, random delays.',
    message: 'The object storage could not be reached.',
  },
  request_timeout: {
    when: 'The request did not arrive whole within 10 seconds.',
    remedy: 'Send it again, with the same Idempotency-Key.',
    message: 'The body did not arrive whole within 10 s.',
  },
  client_closed_request: {
    when: 'The client closed the connection before the request was done. The answer only appears in logs.',
    remedy: 'Nothing: with an Idempotency-Key the same request may be sent again.',
    message: 'The client closed the connection.',
  },
};
