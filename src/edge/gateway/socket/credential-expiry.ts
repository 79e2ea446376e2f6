import type { SocketLimits } from '../../../contract/protocol/socket/socket-limits.ts';
import type { Credential } from '../../../platform/access/principal.ts';

type Limits = Pick<SocketLimits, 'expiryNoticeMs' | 'expiryGraceMs'>;

/**
 * When a socket is sent `auth_expiring` whose credential ends at `expiresAtMs`; all in milliseconds
 * since 1970.
 */
export function noticeAt(kind: Credential['kind'], expiresAtMs: number, limits: Limits): number {
  return isRefreshable(kind) ? expiresAtMs - limits.expiryNoticeMs : Number.POSITIVE_INFINITY;
}

/** When the socket is closed, unless its credential was replaced. */
export function endAt(kind: Credential['kind'], expiresAtMs: number, limits: Limits): number {
  return isRefreshable(kind) ? expiresAtMs + limits.expiryGraceMs : expiresAtMs;
}

/** A key that ends cannot be replaced in-band: `ready` reported no expiry. */
function isRefreshable(kind: Credential['kind']): boolean {
  return kind === 'access_token';
}
