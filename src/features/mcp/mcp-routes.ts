import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Authenticator } from '../../api/access/authenticate.ts';
import { requireAccount, requireSubscription } from '../../api/access/authorize.ts';
import type { RateLimits } from '../../api/access/rate-limit.ts';
import { logFailure } from '../../api/pipeline/failure.ts';
import type { Http } from '../../api/pipeline/pipeline.ts';
import type { CalledRequest, PublicAnswer, PublicRoutes } from '../../api/pipeline/public-routes.ts';
import type { EndpointCaller } from '../../core/endpoint-tools/endpoint-call.ts';
import type { EndpointFacts } from '../../core/endpoint-tools/endpoint-facts.ts';
import { answerOf } from '../../platform/http/web-response.ts';
import type { Logger } from '../../platform/log.ts';
import { CallRefusal, EndpointCalls } from './endpoint-calls.ts';
import type { McpServer } from './mcp-server.ts';
import type { ToolSet } from './tool-set.ts';

/** The parts that exist once the API can be called. */
export interface McpParts {
  readonly http: Pick<Http, 'failures' | 'origins' | 'parts'>;
  readonly caller: EndpointCaller;
}

export interface McpRoutesOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly rateLimits: Pick<RateLimits, 'credentials'>;
  readonly log: Logger;
  readonly server: McpServer;
  readonly tools: ToolSet;
  readonly routes: () => readonly EndpointFacts[];
  readonly parts: () => McpParts;
  /** The URL of this server for its callers. */
  readonly publicUrl: () => string;
  /** Returns the addresses of the identity providers whose tokens the account takes. */
  readonly issuersOf: (accountId: string) => Promise<readonly string[]>;
}

/** The path of MCP. Below it is that of each account, for tokens that do not name theirs. */
const PATH = '/mcp';
const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/** Returns the address of MCP, and the metadata of RFC 9728 that leads clients to a sign-in. */
export function mcpRoutes(options: McpRoutesOptions): PublicRoutes {
  const called = (request: CalledRequest) => answer(options, request);
  return {
    [PATH]: { called },
    [`${PATH}/*`]: { called },
    [`${METADATA_PATH}/*`]: {
      limited: { get: ({ path }) => metadata(options, path.slice(METADATA_PATH.length + 1)) },
    },
  };
}

async function answer(options: McpRoutesOptions, request: CalledRequest): Promise<PublicAnswer> {
  const account = accountIn(request);
  try {
    return await served(options, request, account);
  } catch (thrown) {
    return refusalOf(options, request, account, thrown);
  }
}

async function served(
  { authenticator, rateLimits, log, server, tools, routes, parts, publicUrl }: McpRoutesOptions,
  request: CalledRequest,
  account: string | undefined,
): Promise<PublicAnswer> {
  const { http, caller } = parts();
  // Not the host that the request names: a page makes any name of its own lead here.
  http.origins.require({ origin: request.origin, host: new URL(publicUrl()).host });
  const principal = await authenticator.authenticate(request.authorization, account, ...MISSING);
  if (account !== undefined) requireAccount(principal, account);
  requireSubscription(principal);
  request.calledBy(principal);
  const text = await request.readBody();
  const body = parsed(text);
  const offered = tools.for(principal, new URLSearchParams(request.query).get('tools'));
  for (let left = countedIn(body, offered); left > 0; left -= 1) {
    await rateLimits.credentials.consume(principal.credential.id);
  }
  const session = {
    calls: new EndpointCalls(caller, routes, principal, request.trace),
    tools: offered,
    refusalOf(thrown: unknown) {
      if (thrown instanceof CallRefusal) return thrown;
      const refusal = http.failures.map(thrown);
      logFailure(log, refusal, { request_id: request.id });
      return CallRefusal.of(refusal);
    },
  };
  const asked = new Request(new URL(request.path, publicUrl()), {
    method: 'POST',
    headers: headersOf(request),
    signal: request.signal,
    ...(body === undefined && { body: text }),
  });
  return answerOf(await server.answer(asked, body, session));
}

const MISSING = [
  'Name the account: its id behind /mcp/, or the Service-Account header.',
  'Service-Account',
] as const;

/** An account in the path comes before the header, as the address is what people configure. */
function accountIn({ path, account }: CalledRequest): string | undefined {
  return path.length > PATH.length + 1 ? path.slice(PATH.length + 1) : account;
}

/** Returns undefined for text that is no JSON, which the library answers. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns how many messages count here, under the limit of requests. A call of an endpoint counts
 * in the pipeline. Throws ApiError `payload_too_large`.
 */
function countedIn(body: unknown, tools: ReadonlyMap<string, unknown>): number {
  const messages: readonly Message[] = Array.isArray(body) ? body : [body as Message];
  if (messages.length > BATCH)
    throw new ApiError('payload_too_large', `A batch has at most ${BATCH} messages.`);
  const isCall = (message: Message) =>
    message?.method === 'tools/call' && tools.has(message.params?.name as string);
  return messages.filter((message) => !isCall(message) && !IN_PIPELINE.has(message?.method)).length;
}

/** A message that nothing has checked. */
type Message =
  | { readonly method?: unknown; readonly params?: { readonly name?: unknown } | null }
  | null
  | undefined;

/** Most messages of a batch, which the revision 2025-03-26 alone has. */
const BATCH = 20;

const IN_PIPELINE: ReadonlySet<unknown> = new Set([
  'resources/list',
  'resources/read',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
]);

function headersOf({ accept, contentType, mcp }: CalledRequest): Record<string, string> {
  return {
    ...mcp,
    ...(accept !== undefined && { accept }),
    ...(contentType !== undefined && { 'content-type': contentType }),
  };
}

/** Refuses in the form of the protocol, with the status and the headers that clients act on. */
async function refusalOf(
  { parts, issuersOf, publicUrl }: McpRoutesOptions,
  request: CalledRequest,
  account: string | undefined,
  thrown: unknown,
): Promise<PublicAnswer> {
  const { failures, parts: access } = parts().http;
  const refused = failures.map(thrown);
  const refusal = (await access.whereabouts?.explain(refused, account)) ?? refused;
  const { status, message, retryAfterS = status === 503 ? 1 : undefined } = refusal;
  const { error: data } = JSON.parse(failures.toBody(refusal, request.id));
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: SERVER_ERROR, message, data } });
  const headers = {
    ...(status === 401 && { 'WWW-Authenticate': await challenge() }),
    ...(retryAfterS !== undefined && { 'Retry-After': String(retryAfterS) }),
  };
  return { status, body, headers, refusal };

  async function challenge(): Promise<string> {
    const hasIssuer = account !== undefined && ACCOUNT.test(account) && (await issuersOf(account)).length > 0;
    if (!hasIssuer) return 'Bearer';
    const invalid = request.authorization === undefined ? '' : ', error="invalid_token"';
    return `Bearer resource_metadata="${publicUrl()}${METADATA_PATH}/${account}"${invalid}`;
  }
}

/** The first of the codes that JSON-RPC leaves to servers. */
const SERVER_ERROR = -32_000;

/** The form of an id: no other text of a caller gets into a header. */
const ACCOUNT = /^acc_\w{1,60}$/;

async function metadata({ issuersOf, publicUrl }: McpRoutesOptions, account: string): Promise<PublicAnswer> {
  const issuers = ACCOUNT.test(account) ? await issuersOf(account) : [];
  if (issuers.length === 0) {
    throw new ApiError('resource_not_found', 'There is no such account, or it has no identity provider.');
  }
  const document = {
    resource: `${publicUrl()}${PATH}/${account}`,
    authorization_servers: issuers,
    bearer_methods_supported: ['header'],
    resource_name: 'Parley',
  };
  return {
    status: 200,
    body: JSON.stringify(document),
    headers: { 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'max-age=300' },
  };
}
