import { type Actor, presentActor } from '../protocol/resources/actor.ts';

/**
 * Who makes a request, as read from its credential: immutable, cached and shared between requests
 * (access/authenticate.ts), so nothing of one request may be kept in it.
 */
export interface Principal {
  readonly accountId: string;
  /** Whether the account's subscription is active enough; else `payment_required`. */
  readonly subscribed: boolean;
  /** As the resources show it. `actor.id` is the author of what it sends. */
  readonly actor: Actor;
  /** An external customer: no role, sees its own cases alone (docs/contract.md#customers). */
  readonly customer: boolean;
  /** Behind an `admin` role: holds every permission. */
  readonly admin: boolean;
  readonly roleId: string | null;
  readonly permissions: ReadonlySet<string>;
  readonly credential: Credential;
}

export interface Credential {
  readonly kind: 'api_key' | 'access_token';
  /** The key's id, or the token's `jti`: what rate limits count and revocation names. */
  readonly id: string;
  /** Of an access token: the family of refresh tokens that it ends with; absent where there is none. */
  readonly familyId?: string | undefined;
  /** Milliseconds since 1970; null where it does not expire. */
  readonly expiresAtMs: number | null;
}

/** Whether the caller reads and sends in every conversation of its account (docs/contract.md#reading-and-sending). */
export function seesWholeAccount(principal: Principal): boolean {
  return principal.admin || principal.actor.type === 'api_key';
}

/** Who calls an endpoint that asks for no credential: it holds nothing, and is in no account. */
export const NOBODY: Principal = Object.freeze({
  accountId: '',
  subscribed: false,
  actor: presentActor({ id: '', type: 'user', name: null, handle: null, avatar_url: null }),
  customer: false,
  admin: false,
  roleId: null,
  permissions: new Set<string>(),
  credential: { kind: 'access_token', id: '', expiresAtMs: null },
} as const);
