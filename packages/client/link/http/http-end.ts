import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { CLOSE_BANDS, type CLOSE_CODES, type CloseReason } from '@parley/protocol/socket/close-codes.ts';
import type { ConnectionEnd } from '../../errors/connection-end.ts';
import { ParleyError, refusal } from '../../errors/parley-error.ts';

/** Returns the end of a socket that corresponds to a failed request. */
export function endOf(failure: unknown): ConnectionEnd {
  const reason = failure instanceof Error ? failure.message : String(failure);
  // The answer of a proxy, or of a server that lacks the route.
  if (!(failure instanceof ParleyError) || failure.error === null) return { code: 1006, reason };
  const close = closeOf(failure);
  if (close === undefined) return { code: 1006, reason };
  const code = CODES[close];
  const retryAfter = JSON.stringify({ retry_after_ms: failure.retryAfterMs ?? DEFAULT_WAIT_MS });
  return {
    code,
    reason: CLOSE_BANDS[Math.floor(code / 100)] === 'wait' ? retryAfter : close,
    error: failure.error,
  };
}

/** Returns the end after a stream or poll whose cursor was refused: nothing is followed on it. */
export function endOfResume(error: ErrorObject): ConnectionEnd {
  if (error.is_transient) return endOf(refusal(error));
  return { code: CODES.cursor_invalid, reason: 'cursor_invalid', error };
}

function closeOf({ code, status, param, isTransient }: ParleyError): keyof typeof CODES | undefined {
  if (code === 'account_in_other_cell') return 'account_moved';
  if (status === 401 || param === 'Service-Account') return 'credentials_revoked';
  // The quota of open connections is a limit that passes.
  if (isTransient || code === 'limit_exceeded') return status === 503 ? 'overloaded' : 'rate_limited';
  if (status === 402 || status === 403) return 'forbidden';
  if (code.startsWith('api_version_')) return 'version_unsupported';
  return param === 'cursor' ? 'cursor_invalid' : undefined;
}

/** Only the ends that an answer can mean, because pages need no others. */
const CODES = {
  account_moved: 4003,
  rate_limited: 4100,
  overloaded: 4101,
  credentials_revoked: 4202,
  cursor_invalid: 4300,
  version_unsupported: 4401,
  forbidden: 4403,
} as const satisfies { readonly [Reason in CloseReason]?: (typeof CLOSE_CODES)[Reason]['code'] };

const DEFAULT_WAIT_MS = 1_000;
