import type { Credential } from '../../access/principal.ts';
import type { SocketLimits } from '../../protocol/socket/socket-limits.ts';

type Limits = Pick<SocketLimits, 'expiryNoticeMs' | 'expiryGraceMs'>;

/** When a socket whose credential ends at `expiresAtMs` is told of it; milliseconds since 1970, as all of these. */
export function noticeAt(kind: Credential['kind'], expiresAtMs: number, limits: Limits): number {
  return isRefreshable(kind) ? expiresAtMs - limits.expiryNoticeMs : Number.POSITIVE_INFINITY;
}

/** When the socket ends, unless its credential was replaced. */
export function endAt(kind: Credential['kind'], expiresAtMs: number, limits: Limits): number {
  return isRefreshable(kind) ? expiresAtMs + limits.expiryGraceMs : expiresAtMs;
}

/** A key that ends is not replaced in-band: `ready` said that it does not expire. */
function isRefreshable(kind: Credential['kind']): boolean {
  return kind === 'access_token';
}
