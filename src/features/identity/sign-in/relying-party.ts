import { decodeProtectedHeader } from 'jose';
import { LRUCache } from 'lru-cache';
import type * as OpenId from 'openid-client';
import { bounded } from '../../../platform/bounded.ts';
import type { AddressGuard } from '../../../platform/outbound/address-guard.ts';
import { GuardedRequest } from '../../../platform/outbound/guarded-request.ts';
import { OutboundError, readOutboundUrl, targetOf } from '../../../platform/outbound/outbound-url.ts';
import type { ProviderRow } from '../providers/provider-store.ts';
import type { Flow } from './flow-seal.ts';

/** A provider with a client of ours. */
export type SignInProvider = ProviderRow & { readonly client_id: string };

/** The provider's claims about the person, in an ID token with a verified signature. */
export interface PersonClaims {
  readonly iss: string;
  readonly sub: string;
  readonly iat: number;
  /** The session of the person at the provider. */
  readonly sid?: string | undefined;
  readonly [claim: string]: unknown;
}

/** The provider refused, or its answer does not prove what it should. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}

/**
 * The code flow with PKCE, as a client of identity providers (OpenID Connect Core 1.0). All
 * requests pass the guard; addresses come from the issuer's discovery document, never from a token.
 */
export class RelyingParty {
  readonly #guard: AddressGuard;
  readonly #fetch: GuardedRequest['fetch'];
  /** The results of discovery, by provider and its last change. */
  readonly #known = new LRUCache<string, Promise<OpenId.Configuration>>({
    ...bounded(MAX_KNOWN),
    ttl: KNOWN_MS,
  });

  constructor(guard: AddressGuard) {
    this.#guard = guard;
    this.#fetch = new GuardedRequest(guard).fetch;
  }

  /**
   * Returns the address for the browser, and what the browser has to keep. Rejects with
   * OutboundError or an error of openid-client if the provider cannot be used.
   */
  async begin(
    provider: SignInProvider,
    redirectUri: string,
  ): Promise<{ readonly url: URL } & Pick<Flow, 'state' | 'nonce' | 'verifier'>> {
    const [client, configuration] = await Promise.all([openId(), this.discover(provider)]);
    const state = client.randomState();
    const nonce = client.randomNonce();
    const verifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: SCOPE,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url, state, nonce, verifier };
  }

  /**
   * Trades the code in `query`, with which the browser returned, for the claims of the person.
   * Rejects with SignInRefused, or as `begin` does.
   */
  async finish(
    provider: SignInProvider,
    redirectUri: string,
    query: string,
    { state, nonce, verifier }: Pick<Flow, 'state' | 'nonce' | 'verifier'>,
  ): Promise<PersonClaims> {
    const [client, configuration] = await Promise.all([openId(), this.discover(provider)]);
    try {
      const tokens = await client.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      requireAlgorithm(provider, tokens.id_token!);
      const claims = tokens.claims() as PersonClaims;
      // For some hosts the library accepts an issuer that a token names.
      if (claims.iss !== provider.issuer) throw new SignInRefused('The ID token is of another issuer.');
      requireSignIn(claims);
      return { ...(await this.#moreOf(configuration, provider, tokens.access_token, claims)), ...claims };
    } catch (error) {
      throw refusalOf(client, error) ?? error;
    }
  }

  /** Reads the provider's discovery document, or returns a copy that is at most ten minutes old. */
  discover(provider: SignInProvider): Promise<OpenId.Configuration> {
    const key = `${provider.id} ${provider.updated_at}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = this.#read(provider);
    this.#known.set(key, found);
    found.catch(() => this.#known.delete(key));
    return found;
  }

  async #read({
    issuer,
    client_id: id,
    client_secret: secret,
  }: SignInProvider): Promise<OpenId.Configuration> {
    const client = await openId();
    const url = readOutboundUrl(issuer);
    const isPlain = url.protocol === 'http:' && this.#guard.isAllowed(targetOf(url));
    const metadata = { [client.clockTolerance]: SKEW_S };
    return client.discovery(url, id, metadata, authenticationOf(client, secret), {
      [client.customFetch]: this.#fetch as OpenId.CustomFetch,
      // An ID token is trusted for its signature, not for the connection that delivered it.
      execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
    });
  }

  /** Fetches the profile if the ID token lacks a claim that a new person needs. */
  async #moreOf(
    configuration: OpenId.Configuration,
    { provision, name_claim, email_claim }: SignInProvider,
    accessToken: string,
    claims: PersonClaims,
  ): Promise<object> {
    const isWhole = claims[name_claim] !== undefined && claims[email_claim] !== undefined;
    const { userinfo_endpoint } = configuration.serverMetadata();
    if (isWhole || provision === 'off' || userinfo_endpoint === undefined) return {};
    return (await openId()).fetchUserInfo(configuration, accessToken, claims.sub);
  }
}

const SCOPE = 'openid profile email';
const SKEW_S = 60;
const MAX_KNOWN = 1_000;
const KNOWN_MS = 10 * 60_000;

/** Loads the library at the first sign-in, because most nodes never see one. */
function openId(): Promise<typeof OpenId> {
  return import('openid-client');
}

/** Returns Basic authentication unless the provider accepts only the other method. */
function authenticationOf(client: typeof OpenId, secret: string | null): OpenId.ClientAuth {
  if (secret === null) return client.None();
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic') ? basic : post;
    authenticate(server, ...request);
  };
}

function requireAlgorithm({ algorithms }: SignInProvider, idToken: string): void {
  const { alg } = decodeProtectedHeader(idToken);
  if ((algorithms as readonly string[]).includes(alg ?? '')) return;
  throw new SignInRefused('The ID token is signed in a way that this identity provider may not use.');
}

/**
 * Throws SignInRefused for an ID token that would be refused as a credential
 * (tokens/token-claims.ts) although the library accepts it.
 */
function requireSignIn(claims: PersonClaims): void {
  if (Object.hasOwn(claims, 'events')) throw new SignInRefused('A token about events is no sign-in.');
  if (claims.iat > Date.now() / 1_000 + SKEW_S) {
    throw new SignInRefused('The ID token is not valid yet.');
  }
}

/** Returns undefined if the provider did not answer: a lost connection, or a fault of ours. */
function refusalOf(client: typeof OpenId, error: unknown): SignInRefused | undefined {
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError) {
    return new SignInRefused(`The identity provider refused (${codeOf(error.error)}).`, { cause: error });
  }
  if (!(error instanceof client.ClientError) || error.cause instanceof OutboundError) return undefined;
  if (!OUTBOUND.has(error.code ?? '')) {
    return new SignInRefused('What the identity provider answered proves no sign-in.', { cause: error });
  }
  return undefined;
}

/** Codes of openid-client for requests without an answer. */
const OUTBOUND = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT']);

/** Returns an error code of OAuth; text with other characters is not shown. */
function codeOf(code: string): string {
  return /^[\w.-]{1,60}$/.test(code) ? code : 'no error code';
}
