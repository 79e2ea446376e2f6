import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { CLOSE_CODES, type CloseReason } from '@parley/protocol/socket/close-codes.ts';
import type { ConnectionEnd } from '../../errors/connection-end.ts';
import { ParleyError, refusal } from '../../errors/parley-error.ts';

/** Returns how a socket would have ended for the reason for which a request failed. */
export function endOf(failure: unknown): ConnectionEnd {
  const reason = failure instanceof Error ? failure.message : String(failure);
  // A proxy's answer. So is that of a server which lacks the route.
  if (!(failure instanceof ParleyError) || failure.error === null) return { code: 1006, reason };
  const close = closeOf(failure);
  if (close === undefined) return { code: 1006, reason };
  const { code, next } = CLOSE_CODES[close];
  const retryAfter = JSON.stringify({ retry_after_ms: failure.retryAfterMs ?? DEFAULT_WAIT_MS });
  return { code, reason: next === 'wait' ? retryAfter : close, error: failure.error };
}

/** Returns the end after a stream or poll whose cursor was refused: nothing is followed on it. */
export function endOfResume(error: ErrorObject): ConnectionEnd {
  if (error.is_transient) return endOf(refusal(error));
  return { code: CLOSE_CODES.cursor_invalid.code, reason: 'cursor_invalid', error };
}

function closeOf({ code, status, param, isTransient }: ParleyError): CloseReason | undefined {
  if (code === 'account_in_other_cell') return 'account_moved';
  if (status === 401 || param === 'Service-Account') return 'credentials_revoked';
  // The quota of open connections is a limit that passes.
  if (isTransient || code === 'limit_exceeded') return status === 503 ? 'overloaded' : 'rate_limited';
  if (status === 402 || status === 403) return 'forbidden';
  if (code.startsWith('api_version_')) return 'version_unsupported';
  return param === 'cursor' ? 'cursor_invalid' : undefined;
}

const DEFAULT_WAIT_MS = 1_000;
