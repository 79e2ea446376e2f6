import { ModelError } from './model.ts';

/**
 * Converts a provider's failure into a ModelError without any text of the provider or the SDK: such
 * texts quote keys, addresses and the prompt itself. Only the status and a code that looks like one
 * are kept. `began` says whether the answer had begun.
 */
export function toModelError(error: unknown, began: boolean): ModelError {
  if (error instanceof ModelError) return error;
  const failure = (error ?? {}) as Failure;
  const status = typeof failure.statusCode === 'number' ? failure.statusCode : null;
  const code = codeOf(failure);
  if (status === 429 || (code !== null && RATE_LIMITED.test(code))) {
    return new ModelError('rate_limited', 'The model takes no more requests for now.', retryAfterOf(failure));
  }
  // For a connection that broke, the SDK reports the 200 that the answer had begun with.
  if (status !== null && status !== 200) {
    const detail = code === null ? '' : ` (${code})`;
    return new ModelError('unavailable', `The model answered ${status}${detail}.`, retryAfterOf(failure));
  }
  const name = error instanceof Error ? error.name : '';
  if (name === 'AI_InvalidResponseDataError' && /finish reason/.test((error as Error).message)) {
    return new ModelError('cut_off', 'The model broke off before the end of its answer.');
  }
  if (UNREADABLE.has(name)) return new ModelError('malformed', 'The model answered what cannot be read.');
  if (code !== null) return new ModelError('unavailable', `The model reported an error (${code}).`);
  if (began) return new ModelError('cut_off', 'The connection to the model broke off.');
  return new ModelError('unavailable', 'The model could not be reached.');
}

const RATE_LIMITED = /^(rate_limit(_error|_exceeded)?|insufficient_quota|too_many_requests)$/;

const UNREADABLE = new Set(['AI_JSONParseError', 'AI_TypeValidationError', 'AI_InvalidResponseDataError']);

/** The longest pause a model gets: a quota that returns in a day is tried before that. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** Reads Retry-After in seconds or as a date, or the vendors' retry-after-ms. */
function retryAfterOf({ responseHeaders: headers }: Failure): number | null {
  const text = headers?.['retry-after'];
  const inMs = Number(headers?.['retry-after-ms'] ?? Number.NaN);
  const inSeconds = Number(text ?? Number.NaN);
  const until = typeof text === 'string' ? Date.parse(text) - Date.now() : Number.NaN;
  const ms = [inMs, inSeconds * 1_000, until].find((value) => Number.isFinite(value));
  return ms === undefined ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** Reads `error.code` or `.type` of an error chunk, or of the body of an error response. */
function codeOf({ data, code, type }: Failure): string | null {
  const named = [data?.error?.code, data?.error?.type, code, type].filter(
    (value) => typeof value === 'string',
  );
  return named.find((value) => /^[a-z][a-z_]{1,63}$/.test(value)) ?? null;
}

/** The fields of an error of the SDK, or of an error chunk, that are looked at. */
interface Failure {
  readonly statusCode?: unknown;
  readonly responseHeaders?: Readonly<Record<string, unknown>> | null;
  readonly data?: { readonly error?: { readonly code?: unknown; readonly type?: unknown } | null } | null;
  readonly code?: unknown;
  readonly type?: unknown;
}
