import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { CLOSE_BANDS, type CLOSE_CODES, type CloseReason } from '@parley/protocol/socket/close-codes.ts';
import type { ConnectionEnd } from '../../errors/connection-end.ts';
import { lost, type ParleyError, reasonOf, refusal } from '../../errors/parley-error.ts';
import { DEFAULT_WAIT_MS, UNREADABLE } from '../connection.ts';

/** Returns the end of a socket that corresponds to a failed request. */
export function endOf(failure: unknown): ConnectionEnd {
  const refused = lost(failure);
  const { error, message: reason, status, retryAfterMs } = refused;
  const code = codeOf(refused);
  if (error === null || code === undefined) {
    // A proxy's answer, or that of a server without the route, is no lost network.
    const isRefusal = status !== null && reasonOf(refused) === 'protocol';
    return { code: isRefusal ? UNREADABLE : 1006, reason, ...(error && { error }) };
  }
  const retryAfter = JSON.stringify({ retry_after_ms: retryAfterMs ?? DEFAULT_WAIT_MS });
  return { code, reason: CLOSE_BANDS[Math.floor(code / 100)] === 'wait' ? retryAfter : reason, error };
}

/** Returns the end after a stream or poll whose cursor was refused: nothing is followed on it. */
export function endOfResume(error: ErrorObject): ConnectionEnd {
  if (error.is_transient) return endOf(refusal(error));
  return { code: CURSOR_INVALID, reason: error.message, error };
}

function codeOf({ code, status, param, isTransient }: ParleyError): number | undefined {
  if (code === 'account_in_other_cell') return ACCOUNT_MOVED;
  if (status === 401 || param === 'Service-Account') return CREDENTIALS_REVOKED;
  // The quota of open connections is a limit that passes.
  if (isTransient || code === 'limit_exceeded') return status === 503 ? OVERLOADED : RATE_LIMITED;
  if (status === 402 || status === 403) return FORBIDDEN;
  if (code.startsWith('api_version_')) return VERSION_UNSUPPORTED;
  return param === 'cursor' ? CURSOR_INVALID : undefined;
}

type CodeOf<Reason extends CloseReason> = (typeof CLOSE_CODES)[Reason]['code'];

/** Only the ends that an answer can mean, because pages need no others. */
const ACCOUNT_MOVED: CodeOf<'account_moved'> = 4003;
const RATE_LIMITED: CodeOf<'rate_limited'> = 4100;
const OVERLOADED: CodeOf<'overloaded'> = 4101;
const CREDENTIALS_REVOKED: CodeOf<'credentials_revoked'> = 4202;
const CURSOR_INVALID: CodeOf<'cursor_invalid'> = 4300;
const VERSION_UNSUPPORTED: CodeOf<'version_unsupported'> = 4401;
const FORBIDDEN: CodeOf<'forbidden'> = 4403;
