import { codeOf, toErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { ERROR_GUIDE } from '@parley/protocol/errors/error-guide.ts';
import { ApiError, ERRORS, type ErrorCondition } from '@parley/protocol/errors/errors.ts';
import { namesOneOfSeveral } from '../../pipeline/external-ids.ts';
import type { Route } from '../../pipeline/route.ts';

/**
 * Returns a route's possible conditions: those that the pipeline checks for it, and those that
 * changes of its kind can meet (docs/contract.md#values-and-their-errors). Single rules are not
 * distinguished, because they share `resource_conflict`.
 */
export function refusalsOf(route: Route): ErrorCondition[] {
  const found = new Set<ErrorCondition>(ALWAYS);
  const add = (conditions: readonly ErrorCondition[]) => conditions.forEach(found.add, found);
  if (route.operators !== undefined) {
    found.delete('expired_token');
    add(OF_KEYS);
    if (route.operators === 'all') add(['parameter_missing']);
  } else if (route.open !== true) {
    add(OF_CREDENTIALS);
    if (route.unsubscribed !== true) add(['payment_required']);
    if (route.permission !== null || route.customers !== true || route.agents === false) {
      add(['insufficient_permissions']);
    }
  }
  if (isPaged(route)) add(['parameters_exclusive']);
  if (namesOneOfSeveral(route)) add(['resource_conflict']);
  if (OF_CONVERSATIONS.test(route.path)) add(['resource_gone']);
  if (OF_FILES.test(route.path)) add(['external_service_error', 'timeout', 'connection_error']);
  if (route.method !== 'GET') add(OF_BODIES);
  if (route.method !== 'GET' && route.asks !== true) add([...OF_CHANGES, ...OF_IDEMPOTENCY]);
  if (route.status === 201) add(OF_NEW_ONES);
  if (route.body !== undefined) add(['missing_field']);
  add(route.refuses ?? []);
  // In the order of the table, so documents do not depend on the order above.
  return (Object.keys(ERRORS) as ErrorCondition[]).filter((condition) => found.has(condition));
}

/** Returns an example answer for a condition. */
export function refusalExample(condition: ErrorCondition, docsUrl: string): object {
  const { message, param } = ERROR_GUIDE[condition];
  const quota = condition === 'limit_exceeded' ? { limit: 5, used: 5, reset_at: null } : undefined;
  const cellUrl = condition === 'account_in_other_cell' ? 'https://b.chat.example' : undefined;
  const error = new ApiError(condition, message, {
    param,
    ...(quota && { quota }),
    ...(cellUrl && { cellUrl }),
  });
  return { error: toErrorObject(error, docsUrl, null) };
}

export function statusOf(condition: ErrorCondition): string {
  return String(ERRORS[condition].status);
}

/** Returns the codes of a status as one line. */
export function describeRefusals(conditions: readonly ErrorCondition[]): string {
  const codes = new Set(conditions.map((condition) => `\`${codeOf(condition)}\``));
  return [...codes].join(', ');
}

const ALWAYS: readonly ErrorCondition[] = [
  'expired_token',
  'invalid_credentials',
  'invalid_format',
  'head_too_large',
  'parameter_invalid',
  'parameter_unknown',
  'resource_not_found',
  'account_in_other_cell',
  'rate_limit_exceeded',
  'api_version_required',
  'api_version_invalid',
  'api_version_too_old',
  'internal_error',
  'service_unavailable',
];

const OF_KEYS: readonly ErrorCondition[] = ['api_key_expired', 'api_key_revoked'];

const OF_CREDENTIALS: readonly ErrorCondition[] = [...OF_KEYS, 'parameter_missing'];

const OF_BODIES: readonly ErrorCondition[] = [
  'validation_failed',
  'payload_too_large',
  'unsupported_media_type',
  'request_timeout',
];

const OF_CHANGES: readonly ErrorCondition[] = ['resource_conflict', 'resource_gone'];

/** Reads of a deleted conversation are refused too. */
const OF_CONVERSATIONS = /^\/v1\/messaging\/(conversations|messages)\/:id/;

/** Their object storage may answer, hang or be away. */
const OF_FILES =
  /^\/v1\/messaging\/(messages|alerts|attachments|conversations\/:id\/(?:messages|email))|^\/v1\/(ai\/artifacts|exports)|\/exports$/;

const OF_NEW_ONES: readonly ErrorCondition[] = ['limit_exceeded', 'resource_exists'];

const OF_IDEMPOTENCY: readonly ErrorCondition[] = ['idempotency_in_progress', 'idempotency_key_reused'];

function isPaged({ query }: Route): boolean {
  return Object.hasOwn((query as { properties?: object } | undefined)?.properties ?? {}, 'cursor');
}
