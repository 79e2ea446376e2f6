import type { People } from '@parley/protocol/resources/account.ts';
import { type Actor, presentActor } from '@parley/protocol/resources/actor.ts';
import type { AccountMove } from './account-moves.ts';

/**
 * The caller of a request, as read from its credential. Immutable, cached and shared by requests
 * (api/access/authenticate.ts), so it holds nothing of a single request.
 */
export interface Principal {
  readonly accountId: string;
  /** Whether the account's subscription is active; otherwise requests get `payment_required`. */
  readonly subscribed: boolean;
  /** Absent unless the account moves to another installation, or has moved. */
  readonly move?: AccountMove | undefined;
  /** In the form of resources. `actor.id` is the author of what the caller sends. */
  readonly actor: Actor;
  /** An external customer: no role, sees only its own cases (docs/contract.md#customers). */
  readonly customer: boolean;
  /** True for the role `admin`, which holds every permission. */
  readonly admin: boolean;
  /**
   * Whether it sees the own ids of all actors (docs/contract.md#own-ids); if not, its own alone.
   */
  readonly seesOwnIds: boolean;
  /**
   * Whether it sees the addresses of all people (docs/contract.md#who-sees-addresses); if not, its
   * own alone.
   */
  readonly seesHandles: boolean;
  /** The account's setting (core/resources/known-users.ts). */
  readonly people: People;
  /**
   * A user, or a key, that sees the installation as a whole (docs/contract.md#the-installation).
   */
  readonly operator: boolean;
  readonly roleId: string | null;
  readonly permissions: ReadonlySet<string>;
  readonly credential: Credential;
}

export interface Credential {
  readonly kind: 'api_key' | 'access_token' | 'operator_key';
  /** The key's id, or the token's `jti`: rate limits count by it and revocation names it. */
  readonly id: string;
  /** The family of refresh tokens that an access token ends with; absent if there is none. */
  readonly familyId?: string | undefined;
  /** Milliseconds since 1970 of an access token's issue; absent if unknown. */
  readonly issuedAtMs?: number | undefined;
  /** Absent unless the credential came from an identity provider. */
  readonly provider?: CredentialProvider | undefined;
  /** The widget by which a visitor came; absent on all other credentials. */
  readonly widgetId?: string | undefined;
  /** Milliseconds since 1970; null if it does not expire. */
  readonly expiresAtMs: number | null;
  /**
   * The end that a foreign token states: `expiresAtMs` without the tolerance for its issuer's
   * clock.
   */
  readonly statedEndMs?: number | undefined;
}

/** The identity provider, at the revision at which it proved a credential that ends with it. */
export interface CredentialProvider {
  readonly id: string;
  readonly revision: number;
}

/**
 * Returns whether the caller reads and sends in its whole account
 * (docs/contract.md#reading-and-sending).
 */
export function seesWholeAccount({ admin, actor }: Pick<Principal, 'admin' | 'actor'>): boolean {
  return admin || actor.type === 'api_key';
}

/** Returns whether the caller knows every user of its account, since it administers them. */
export function knowsUsers(caller: Pick<Principal, 'admin' | 'actor' | 'permissions'>): boolean {
  return seesWholeAccount(caller) || FOR_USERS.some((permission) => caller.permissions.has(permission));
}

const FOR_USERS = ['users:read', 'users:create', 'users:update'];

/** The principal of endpoints that require no credential: no permissions, no account. */
export const UNAUTHENTICATED: Principal = Object.freeze({
  accountId: '',
  subscribed: false,
  actor: presentActor({
    id: '',
    type: 'user',
    name: null,
    handle: null,
    avatar_url: null,
    external_id: null,
    username: null,
  }),
  customer: false,
  admin: false,
  seesOwnIds: false,
  seesHandles: false,
  people: 'everyone',
  operator: false,
  roleId: null,
  permissions: new Set<string>(),
  credential: { kind: 'access_token', id: '', expiresAtMs: null },
} as const);
