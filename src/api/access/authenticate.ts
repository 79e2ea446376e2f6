import { ApiError, deactivatedCaller, unavailable } from '@parley/protocol/errors/errors.ts';
import { ADMIN_PERMISSIONS, PERMISSIONS } from '@parley/protocol/permissions.ts';
import type { HandleReaders, OwnIdReaders, People } from '@parley/protocol/resources/account.ts';
import { type ActorType, presentActor } from '@parley/protocol/resources/actor.ts';
import type { RoleType } from '@parley/protocol/resources/role.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { type Statement, statement, type Value } from '../../platform/db/connection/statement.ts';
import { isUnavailable } from '../../platform/db/connection/unavailable.ts';
import { requireHere, type Whereabouts } from './account-moves.ts';
import { API_KEY_PREFIX, hashApiKey, hasValidChecksum, OPERATOR_KEY_PREFIX } from './api-keys.ts';
import { type AccountPlace, accountMissing } from './authorize.ts';
import { type Credential, knowsUsers, type Principal } from './principal.ts';
import { RevocableCache } from './revocable-cache.ts';
import type { Rights } from './rights.ts';
import type { MoveState } from './tables.ts';
import { expiredToken, OWN_TOKEN_START, type Tokens } from './tokens.ts';

export interface AuthenticatorOptions {
  readonly database: Database;
  readonly tokens: Tokens;
  readonly rights: Rights;
  /** Absent if no account has moved. */
  readonly whereabouts?: Pick<Whereabouts, 'explain'>;
  /** Most credentials cached; 10,000 by default. */
  readonly maxCached?: number;
  /** Milliseconds since 1970; expiry is compared with it. */
  readonly now?: () => number;
  /** Milliseconds of a clock that never goes back, for the age of cached entries. */
  readonly monotonicNow?: () => number;
}

/** The caller that asked for a ticket, as the ticket's row has it. */
export interface Identity {
  readonly accountId: string;
  readonly actorId: string;
  readonly credential: Credential;
}

/** Reads the tokens of issuers that accounts trust (features/identity). */
export interface ForeignTokens {
  /**
   * Verifies a token for an account. Returns its subject; undefined if it is no token of an issuer
   * that the account trusts. Rejects with ApiError: `invalid_credentials`, `expired_token`, or
   * `service_unavailable` if the issuer's keys cannot be read.
   */
  read(accountId: string, token: string): Promise<Identity | undefined>;
}

/**
 * Turns a credential into the principal of a request (docs/contract.md#authentication,
 * docs/architecture.md#rights-that-end). Results are cached by the text of the credential, so a
 * known caller costs one look-up in memory, no hash and no `await`. A changed right
 * (`rights.announce` with the id of the key, actor, role or account) takes effect at once on every
 * node.
 */
export class Authenticator {
  readonly #database: Database;
  readonly #tokens: Tokens;
  readonly #whereabouts: AuthenticatorOptions['whereabouts'];
  readonly #now: () => number;
  readonly #byText: RevocableCache<CredentialState | undefined>;
  readonly #byIdentity: RevocableCache<CredentialState | undefined>;
  #foreign: ForeignTokens | undefined;

  constructor(options: AuthenticatorOptions) {
    this.#database = options.database;
    this.#tokens = options.tokens;
    this.#whereabouts = options.whereabouts;
    this.#now = options.now ?? Date.now;
    const common = {
      rights: options.rights,
      subjectsOf,
      max: options.maxCached ?? MAX_CACHED,
      ...(options.monotonicNow === undefined ? {} : { now: options.monotonicNow }),
    };
    this.#byText = new RevocableCache({ ...common, load: (key) => this.#readKey(key) });
    this.#byIdentity = new RevocableCache({
      ...common,
      load: (key) => this.#readIdentity(JSON.parse(key)),
    });
  }

  /**
   * Returns the principal if the credential is cached, else a promise. Throws, or rejects with,
   * ApiError: `invalid_credentials` (missing, malformed, unknown, another scheme, a deactivated
   * actor), `api_key_expired`, `api_key_revoked`, `expired_token`, `service_unavailable` (Postgres
   * is away, or the account is on its way here), `account_in_other_cell`. `authorization` is the
   * value of the header. `account` is the account that the request names; only the token of an
   * identity provider is read for it, and is `parameter_missing` without it, which `missing`
   * describes.
   */
  authenticate(
    authorization: string | undefined,
    account?: string,
    ...missing: AccountPlace
  ): Principal | Promise<Principal> {
    const text = credentialIn(authorization);
    const standing = this.#byText.get(isOwn(text) ? text : foreignKey(text, account, missing));
    return standing instanceof Promise ? standing.then((read) => this.#admit(read)) : this.#admit(standing);
  }

  /** Returns the current principal of a ticket or an open socket. Rejects like `authenticate`. */
  async principalOf(identity: Identity): Promise<Principal> {
    return this.#admit(await this.#byIdentity.get(identityKey(identity)));
  }

  /** Accepts tokens of others, until the next call, beside our own keys and tokens. */
  accept(foreign: ForeignTokens): void {
    this.#foreign = foreign;
  }

  /** Clears the caches and stops listening to changes. */
  close(): void {
    this.#byText.close();
    this.#byIdentity.close();
  }

  /** Runs at each use, cached or not, because expiry is not announced. */
  #admit(standing: CredentialState | undefined): Principal {
    if (standing === undefined) throw unknownCredential();
    const { principal, revoked, deactivated } = standing;
    requireHere(principal.move);
    const { kind, expiresAtMs } = principal.credential;
    if (revoked && kind === 'api_key')
      throw new ApiError('api_key_revoked', 'The API key was revoked. Use another key.');
    if (revoked)
      throw new ApiError('invalid_credentials', 'The access token was revoked. Request a new one.');
    if (expiresAtMs !== null && expiresAtMs <= this.#now()) {
      if (kind === 'api_key')
        throw new ApiError('api_key_expired', 'The API key has expired. Use another key.');
      throw expiredToken();
    }
    if (deactivated) throw deactivatedCaller();
    return principal;
  }

  /** Prepares the statements, which find nothing, on the connection that they use. */
  async warmUp(): Promise<void> {
    const { checks } = this.#database;
    await Promise.all([
      checks.query(BY_HASH, hashApiKey('')),
      checks.query(BY_ACTOR, '', '', null, null, null, null),
    ]);
  }

  async #readKey(key: string): Promise<CredentialState | undefined> {
    const space = key.lastIndexOf(' ');
    if (space < 0) return this.#readText(key);
    const identity = await this.#foreign?.read(key.slice(0, space), key.slice(space + 1));
    return identity && this.#readIdentity(identity);
  }

  async #readText(text: string): Promise<CredentialState | undefined> {
    if (!CREDENTIAL.test(text)) return undefined;
    if (text.startsWith(API_KEY_PREFIX)) {
      if (!hasValidChecksum(text)) return undefined;
      const row = await this.#read(BY_HASH, hashApiKey(text));
      return row === undefined || row.key_id === null
        ? undefined
        : standingOf(row, {
            kind: 'api_key',
            id: row.key_id,
            expiresAtMs: row.expires_at === null ? null : Date.parse(row.expires_at),
          });
    }
    const { accountId, actorId, ...token } = await this.#tokens.verifyAccess(text);
    return this.#readIdentity({ accountId, actorId, credential: { kind: 'access_token', ...token } });
  }

  async #readIdentity({ accountId, actorId, credential }: Identity): Promise<CredentialState | undefined> {
    const isKey = credential.kind === 'api_key';
    const keyId = isKey ? credential.id : null;
    const { familyId = null, provider } = credential;
    const [providerId, revision] = [provider?.id ?? null, provider?.revision ?? null];
    const row = await this.#read(BY_ACTOR, actorId, accountId, keyId, familyId, providerId, revision);
    if (row !== undefined && (!isKey || row.key_id !== null)) return standingOf(row, credential);
    const refusal = unknownCredential();
    throw (await this.#whereabouts?.explain(refusal, accountId)) ?? refusal;
  }

  async #read<Params extends readonly Value[]>(
    statement: Statement<Params, Row>,
    ...values: NoInfer<Params>
  ): Promise<Row | undefined> {
    try {
      const rows = await this.#database.checks.query(statement, ...values);
      return rows[0];
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause;
      throw unavailable('Credentials cannot be checked at the moment.', cause);
    }
  }
}

const MAX_CACHED = 10_000;
const SCHEME = 'Bearer ';
/** The form of tokens of others: no space, and two dots. */
const TOKEN = /^[^\s.]+\.[^\s.]+\.[^\s.]*$/;
/** Visible ASCII, no longer than any credential of ours. */
const CREDENTIAL = /^[\x21-\x7e]{1,2048}$/;

/**
 * A credential as its row has it. Refusals are cached too: the refusal of a real key depends on
 * rights like any other result.
 */
interface CredentialState {
  readonly principal: Principal;
  readonly revoked: boolean;
  readonly deactivated: boolean;
}

interface Row {
  readonly key_id: string | null;
  readonly expires_at: string | null;
  readonly revoked: boolean;
  readonly family_ended: boolean;
  readonly provider_ended: boolean;
  readonly account_id: string;
  readonly subscribed: boolean;
  readonly own_ids: OwnIdReaders;
  readonly people: People;
  readonly handles: HandleReaders;
  readonly move_state: MoveState | null;
  readonly move_cell: string | null;
  readonly actor_id: string;
  readonly actor_type: ActorType;
  readonly customer: boolean;
  readonly name: string | null;
  readonly handle: string | null;
  readonly avatar_url: string | null;
  readonly external_id: string | null;
  readonly username: string | null;
  readonly deactivated: boolean;
  /** Milliseconds since 1970. */
  readonly tokens_ended_ms: number | null;
  readonly role_id: string | null;
  readonly role_type: RoleType | null;
  readonly permissions: string[] | null;
  readonly operator: boolean;
}

const COLUMNS = `
  SELECT k.id AS key_id, k.expires_at, k.revoked_at IS NOT NULL AS revoked,
    c.id AS account_id, c.subscription = 'active' AS subscribed, c.own_ids, c.people, c.handles,
    m.state AS move_state, m.cell AS move_cell,
    a.id AS actor_id, a.type AS actor_type, a.customer, a.name, a.handle, a.avatar_url, a.external_id, a.username,
    a.deactivated_at IS NOT NULL AS deactivated,
    (extract(epoch FROM a.tokens_ended_at) * 1000)::float8 AS tokens_ended_ms,
    r.id AS role_id, r.type AS role_type, r.permissions`;

const BY_HASH = statement<[hash: Buffer], Row>(
  'principal-by-hash',
)`${COLUMNS}, false AS family_ended, false AS provider_ended, false AS operator
  FROM api_keys k
  JOIN actors a ON a.id = k.actor_id
  JOIN accounts c ON c.id = a.account_id AND c.deleted_at IS NULL
  LEFT JOIN roles r ON r.id = a.role_id
  LEFT JOIN account_moves m ON m.account_id = c.id
  WHERE k.hash = $1`;

const BY_ACTOR = statement<
  [
    actorId: string,
    accountId: string,
    keyId: string | null,
    familyId: string | null,
    providerId: string | null,
    revision: number | null,
  ],
  Row
>('principal-by-actor')`${COLUMNS}, EXISTS (
      SELECT FROM refresh_tokens f WHERE f.family_id = $4 AND f.revoked_at IS NOT NULL
    ) AS family_ended,
    $5::text IS NOT NULL AND NOT EXISTS (
      SELECT FROM identity_providers p WHERE p.id = $5 AND p.account_id = a.account_id AND p.revision = $6
    ) AS provider_ended,
    EXISTS (SELECT FROM operators o WHERE o.user_id = a.id) AS operator
  FROM actors a
  JOIN accounts c ON c.id = a.account_id AND c.deleted_at IS NULL
  LEFT JOIN api_keys k ON k.id = $3 AND k.actor_id = a.id
  LEFT JOIN roles r ON r.id = a.role_id
  LEFT JOIN account_moves m ON m.account_id = c.id
  WHERE a.id = $1 AND a.account_id = $2`;

/** Throws ApiError `invalid_credentials` without a bearer credential. Its form is checked later. */
function credentialIn(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw new ApiError(
      'invalid_credentials',
      'The Authorization header is missing. Send "Bearer <credential>".',
      {
        param: 'Authorization',
      },
    );
  }
  // The scheme is case-insensitive (RFC 9110, 11.1), but nearly all clients write it like this.
  if (
    authorization.startsWith(SCHEME) ||
    authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME.toLowerCase()
  ) {
    return authorization.slice(SCHEME.length);
  }
  throw new ApiError('invalid_credentials', 'The Authorization header must be "Bearer <credential>".', {
    param: 'Authorization',
  });
}

function standingOf(row: Row, credential: Credential): CredentialState {
  const admin = row.role_type === 'admin';
  const granted = row.permissions ?? [];
  const rights = {
    actor: presentActor({ ...row, id: row.actor_id, type: row.actor_type }),
    admin,
    permissions: new Set(admin ? [...PERMISSIONS, ...ADMIN_PERMISSIONS, ...granted] : granted),
  };
  return {
    principal: {
      accountId: row.account_id,
      subscribed: row.subscribed,
      ...(row.move_state !== null && { move: { state: row.move_state, cell: row.move_cell! } }),
      ...rights,
      customer: row.customer,
      seesOwnIds: !row.customer && (row.own_ids === 'team' || row.actor_type === 'api_key'),
      seesHandles: row.handles === 'everyone' || (!row.customer && knowsUsers(rights)),
      people: row.people,
      // The account chooses its identity providers, whose tokens name anyone.
      operator: row.operator && credential.provider === undefined,
      roleId: row.role_id,
      credential,
    },
    revoked: row.revoked || row.family_ended || row.provider_ended || isEnded(row, credential),
    deactivated: row.deactivated,
  };
}

/**
 * Returns whether a token was ended. A session's token ends with it (`family_ended`), others when
 * their actor's tokens do. Identity providers write whole seconds: the second of the end counts.
 */
function isEnded({ tokens_ended_ms: endedMs }: Row, { familyId, issuedAtMs, provider }: Credential): boolean {
  if (familyId !== undefined || endedMs === null || issuedAtMs === undefined) return false;
  if (provider === undefined) return issuedAtMs < endedMs;
  return Math.floor(issuedAtMs / 1_000) <= Math.floor(endedMs / 1_000);
}

function unknownCredential(): ApiError {
  return new ApiError(
    'invalid_credentials',
    'The credential is not a valid API key or access token. Check that it is complete.',
  );
}

function keyOfOperator(): ApiError {
  const message =
    'The key of an operator is for paths below /v1/installation. Use an API key of the account.';
  return new ApiError('invalid_credentials', message);
}

function isOwn(text: string): boolean {
  return text.startsWith(API_KEY_PREFIX) || text.startsWith(OWN_TOKEN_START);
}

/**
 * Returns the key of a token in the cache. Each account has a key of its own, because an issuer
 * that one account trusts proves nothing to another. Throws ApiError for text that is no token.
 */
function foreignKey(text: string, account: string | undefined, missing: AccountPlace): string {
  if (text.startsWith(OPERATOR_KEY_PREFIX)) throw keyOfOperator();
  if (!TOKEN.test(text)) throw unknownCredential();
  if (account === undefined || account === '') throw accountMissing(...missing);
  return `${account} ${text}`;
}

function subjectsOf(standing: CredentialState | undefined): string[] {
  // An unknown credential never becomes known, because its secret is made together with it.
  if (standing === undefined) return [];
  const { accountId, actor, roleId, credential } = standing.principal;
  const subjects = [credential.id, actor.id, accountId];
  if (roleId !== null) subjects.push(roleId);
  if (credential.familyId !== undefined) subjects.push(credential.familyId);
  if (credential.provider !== undefined) subjects.push(credential.provider.id);
  return subjects;
}

/** The order of the fields in a key, whatever the order in an identity. */
const FIELDS = [
  'accountId',
  'actorId',
  'credential',
  'kind',
  'id',
  'familyId',
  'issuedAtMs',
  'expiresAtMs',
  'provider',
  'revision',
  'widgetId',
];

function identityKey(identity: Identity): string {
  return JSON.stringify(identity, FIELDS);
}
