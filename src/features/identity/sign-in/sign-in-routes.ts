import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type {
  LimitedHandler,
  PublicAnswer,
  PublicRoutes,
  StreamedRequest,
} from '../../../api/pipeline/public-routes.ts';
import { lockUser } from '../../../core/accounts/actors/users.ts';
import { issueTokenPair } from '../../../core/accounts/sessions/token-pairs.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { isLoopbackHost, isLoopbackOrigin } from '../../../platform/http/origins.ts';
import type { Persons } from '../persons/persons.ts';
import { insertSignIn } from '../sign-ins.ts';
import { namedBy } from '../tokens/token-claims.ts';
import { FLOW_COOKIE, flowCookie, NO_FLOW_COOKIE, readCookie, sessionCookie } from './cookies.ts';
import type { FlowSeal } from './flow-seal.ts';
import { choicesPage, failurePage, PRIVATE, SIGN_IN_PATH } from './page-routes.ts';
import { type PersonClaims, type RelyingParty, type SignInProvider, SignInRefused } from './relying-party.ts';
import { returnPath } from './return-path.ts';
import { offeredProviders, readSignInProvider } from './sign-in-providers.ts';

export interface SignInParts extends Pick<NodeParts, 'database' | 'tokens' | 'urls' | 'log'> {
  readonly persons: Persons;
  readonly party: RelyingParty;
  readonly seal: FlowSeal;
}

const CALLBACK_PATH = `${SIGN_IN_PATH}/callback/`;

/**
 * Returns the routes of sign-in by an identity provider, for browsers (docs/contract.md#sign-in):
 * they follow links and redirects, so there is no version, and errors are pages.
 */
export function signInRoutes(parts: SignInParts): PublicRoutes {
  return {
    [SIGN_IN_PATH]: { limited: { get: (request) => begin(parts, request) } },
    [`${SIGN_IN_PATH}/providers`]: { limited: { get: listing(parts) } },
    // Each provider has its own, so that a code of one is never sent to another (RFC 9700, 4.4.2).
    [`${CALLBACK_PATH}*`]: { limited: { get: (request) => finish(parts, request) } },
  };
}

/** Returns the handler that lists providers for a page, as JSON. */
function listing({ database }: SignInParts): LimitedHandler {
  return async ({ query }) => {
    const providers = await offeredProviders(database, new URLSearchParams(query).get('account'));
    const data = providers.map(({ id, name }) => ({ id, object: 'sign_in_provider', name }));
    return { status: 200, body: JSON.stringify({ object: 'list', data }), headers: PRIVATE };
  };
}

async function begin(parts: SignInParts, request: StreamedRequest): Promise<PublicAnswer> {
  const { database, party, seal, urls } = parts;
  const query = new URLSearchParams(request.query);
  const returnTo = returnPath(query.get('return_to'));
  if (returnTo === undefined) {
    return failurePage(400, 'return_to must be the path of a page of this server.', SIGN_IN_PATH);
  }
  const elsewhere = loopbackName(request, urls.public);
  if (elsewhere !== undefined) return redirect(302, `${elsewhere}${SIGN_IN_PATH}?${query}`);
  const id = query.get('provider');
  // A page of another site must not sign people in as someone else: it may only open the choices.
  const isOwnStep = !FOREIGN.has(request.site ?? '');
  if (id === null) {
    const providers = await offeredProviders(database, query.get('account'));
    return choicesPage({ providers, returnTo });
  }
  const provider = await readSignInProvider(database, id);
  if (provider === undefined) return choicesPage({ providers: [], returnTo });
  if (!isOwnStep) return choicesPage({ providers: [provider], returnTo });
  try {
    const { url, ...flow } = await party.begin(provider, redirectUriOf(urls.public, id));
    const sealed = await seal.seal({ ...flow, provider: id, returnTo });
    return redirect(302, url.href, [flowCookie(sealed)]);
  } catch (error) {
    return failed(parts, provider, error, returnTo);
  }
}

async function finish(parts: SignInParts, request: StreamedRequest): Promise<PublicAnswer> {
  const { database, party, seal, urls } = parts;
  const id = request.path.slice(CALLBACK_PATH.length);
  const sealed = readCookie(request.cookie, FLOW_COOKIE);
  const flow = sealed === undefined ? undefined : await seal.open(sealed);
  if (flow === undefined || flow.provider !== id) {
    const sentence = 'This sign-in did not begin in this browser, is over, or took longer than ten minutes.';
    return failurePage(400, sentence, `${SIGN_IN_PATH}?${new URLSearchParams({ provider: id })}`);
  }
  const provider = await readSignInProvider(database, id);
  if (provider === undefined) return withoutFlow(choicesPage({ providers: [], returnTo: flow.returnTo }));
  try {
    const claims = await party.finish(provider, redirectUriOf(urls.public, id), request.query, flow);
    const token = await beginSession(parts, provider, claims);
    return redirect(303, flow.returnTo, [sessionCookie(token), NO_FLOW_COOKIE]);
  } catch (error) {
    return withoutFlow(failed(parts, provider, error, flow.returnTo));
  }
}

/** Begins a session of the person. Returns its refresh token. */
async function beginSession(
  { database, tokens, persons }: SignInParts,
  provider: SignInProvider,
  claims: PersonClaims,
): Promise<string> {
  const actorId = await persons.personOf(provider, namedBy(provider, claims));
  const subject = { accountId: provider.account_id, actorId };
  const session = newId('session');
  return database.transaction(async (tx) => {
    // A concurrent deactivation either ends the new session or is seen here.
    const user = await lockUser(tx, provider.account_id, actorId);
    if (user === undefined || user.deactivated || user.role_id === null) {
      throw new ApiError('invalid_credentials', 'This person was deactivated, or has no role.');
    }
    const pair = await issueTokenPair(tx, tokens, subject, session);
    await insertSignIn(tx, {
      session_id: session,
      account_id: provider.account_id,
      actor_id: actorId,
      provider_id: provider.id,
      issuer: provider.issuer,
      subject: claims.sub,
      sid: typeof claims.sid === 'string' ? claims.sid : null,
    });
    return pair.refresh_token;
  });
}

function failed(
  { log }: SignInParts,
  { id, name }: SignInProvider,
  error: unknown,
  returnTo: string,
): PublicAnswer {
  const again = `${SIGN_IN_PATH}?${new URLSearchParams({ provider: id, return_to: returnTo })}`;
  if (error instanceof ApiError) {
    if (error.condition !== 'invalid_credentials') throw error;
    return failurePage(403, `${name} knows you, but you have no access here. Ask an admin.`, again);
  }
  log.warn({ provider_id: id, err: error }, 'a sign-in failed');
  if (error instanceof SignInRefused) return failurePage(403, error.message, again);
  return failurePage(502, `${name} cannot be reached, or is not set up for this server.`, again);
}

/** Removes the flow's cookie: a second try begins with a new state. */
function withoutFlow(answer: PublicAnswer): PublicAnswer {
  return { ...answer, cookies: [NO_FLOW_COOKIE] };
}

function redirect(status: 302 | 303, location: string, cookies: readonly string[] = []): PublicAnswer {
  const headers = { ...PRIVATE, Location: location, 'Referrer-Policy': 'no-referrer' };
  return { status, body: null, headers, cookies };
}

/** Returns the address to register at the provider. */
function redirectUriOf(publicUrl: string, providerId: string): string {
  return `${publicUrl}${CALLBACK_PATH}${providerId}`;
}

/**
 * Returns the public URL if the request used another name of a loopback host: the provider
 * redirects the browser to the public URL, which must have the cookie.
 */
function loopbackName({ host }: StreamedRequest, publicUrl: string): string | undefined {
  const { host: own, origin } = new URL(publicUrl);
  return host !== own && isLoopbackHost(host) && isLoopbackOrigin(origin) ? publicUrl : undefined;
}

/** Values of Sec-Fetch-Site. A typed address and a link in a mail send `none`. */
const FOREIGN: ReadonlySet<string> = new Set(['cross-site', 'same-site']);
