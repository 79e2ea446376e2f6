import { readFile } from 'node:fs/promises';
import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { DOCUMENT_HEADERS, type Document, documentRoute } from '../../api/documents/documents.ts';
import type {
  PublicAnswer,
  PublicRequest,
  PublicRoute,
  PublicRoutes,
} from '../../api/pipeline/public-routes.ts';
import { isLoopbackHost } from '../../platform/http/origins.ts';
import { type Shop, shopPage } from './shop-page.ts';
import { type Welcome, type WelcomeLink, welcomePage } from './welcome-page.ts';

export interface ConsoleOptions {
  readonly version: string;
  readonly runsOn: () => Readonly<Record<string, string>>;
  /** Undefined unless the demo account is on and only this machine can reach the node. */
  readonly demo: ConsoleDemo | undefined;
}

interface ConsoleDemo {
  readonly commands: () => Welcome['commands'];
  /** The people as whom the console opens, with short-lived tokens. */
  readonly session: () => Promise<object>;
  /** The sample shop, whose pages are at this host; undefined where the build has no widgets. */
  readonly shop: (host: string) => Promise<Shop | undefined>;
  /** The token that names the shop's signed-in customer; undefined if the shop cannot sign. */
  readonly shopToken: () => Promise<string | undefined>;
}

/**
 * Returns the routes of `/` and, with the demo account, those below `/demo/`. The credentials of
 * the demo account (its API key on `/`, tokens) are given only to pages of this server. The Host
 * must be this machine's, so a foreign name that points at it gets nothing. A request of another
 * page, which browsers mark by Origin, is refused.
 */
export function consoleRoutes({ version, runsOn, demo }: ConsoleOptions): PublicRoutes {
  const links: readonly WelcomeLink[] = [
    CONSOLE,
    { path: '/docs', title: 'Docs', summary: 'the API, the socket, errors, agents.' },
    { path: '/readyz', title: 'Health', summary: 'whether this node can serve.' },
  ];
  const welcome: PublicRoute = (request) => {
    const isLocal = demo !== undefined && isOwnPage(request);
    return answer(
      welcomePage({
        version,
        links,
        hasDemo: isLocal,
        runsOn: isLocal ? runsOn() : undefined,
        commands: isLocal ? demo.commands() : undefined,
      }),
    );
  };
  return { '/': welcome, ...(demo === undefined ? {} : demoRoutes(demo)) };
}

const CONSOLE: WelcomeLink = {
  path: '/console/',
  title: 'Console',
  summary: 'conversations, search, agents and administration in a browser.',
};

function demoRoutes({ session, shop, shopToken }: ConsoleDemo): PublicRoutes {
  return {
    '/demo/session': { post: forOwnPages(session) },
    '/demo/shop': async (request) => {
      requireLocalHost(request);
      const found = await shop(request.host!);
      if (found === undefined) throw notFound('endpoint');
      return answer(shopPage(found));
    },
    '/demo/shop/token': { post: forOwnPages(async () => ({ token: (await shopToken()) ?? null })) },
    '/demo/shop.js': documentRoute(async () => ({
      contentType: 'text/javascript; charset=utf-8',
      body: await readFile(new URL('shop.js', import.meta.url)),
    })),
  };
}

/** Answers pages of this server alone, which browsers mark by Origin. */
function forOwnPages(credential: () => Promise<object>): PublicRoute {
  return async (request) => {
    requireLocalHost(request);
    if (request.origin === undefined || !isOwnOrigin(request)) {
      const message = 'Only pages of this server can call this endpoint.';
      throw new ApiError('insufficient_permissions', message, { param: 'Origin' });
    }
    return { status: 200, body: JSON.stringify(await credential()), headers: PRIVATE };
  };
}

/** Checks against a foreign name that points here and, by Origin, a page of another origin. */
function isOwnPage(request: PublicRequest): boolean {
  return isLoopbackHost(request.host) && (request.origin === undefined || isOwnOrigin(request));
}

function isOwnOrigin({ origin, host }: PublicRequest): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

/** Refuses as if the path did not exist. */
function requireLocalHost({ host }: PublicRequest): void {
  if (!isLoopbackHost(host)) throw notFound('endpoint');
}

function answer({ contentType, body }: Document): PublicAnswer {
  return { status: 200, contentType, body, headers: { ...DOCUMENT_HEADERS, ...PRIVATE } };
}

/** Never cached, and never part of another page. */
const PRIVATE = { 'Cache-Control': 'no-store', 'Cross-Origin-Resource-Policy': 'same-origin' };
