import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { ApiError, notFound } from '../../contract/protocol/errors.ts';
import { isLoopbackHost } from '../../platform/http/connection/origins.ts';
import { DOCUMENT_HEADERS, type Document, documentRoute } from '../../platform/http/documents/documents.ts';
import type {
  PublicAnswer,
  PublicRequest,
  PublicRoute,
  PublicRoutes,
} from '../../platform/http/pipeline/public-routes.ts';
import { demoPage, type Welcome, type WelcomeLink, welcomePage } from './welcome-page.ts';

export interface ConsoleOptions {
  readonly version: string;
  readonly runsOn: () => Readonly<Record<string, string>>;
  /** Undefined if the metrics have a port of their own. */
  readonly metricsPath: string | undefined;
  /** Undefined unless the demo account is on and only this machine can reach the node. */
  readonly demo: ConsoleDemo | undefined;
}

export interface ConsoleDemo {
  readonly commands: () => Welcome['commands'];
  /** The ids and short-lived tokens that the demo page uses. */
  readonly session: () => Promise<object>;
}

/**
 * `/` and, with the demo account, `/demo`. The credentials of the demo account (its API key on `/`,
 * tokens from `/demo/session`) are given only to pages of this server: the Host must be this
 * machine's, so a foreign name that points at it gets nothing, and a request of another page, which
 * browsers mark by Origin, is refused.
 */
export function consoleRoutes({ version, runsOn, metricsPath, demo }: ConsoleOptions): PublicRoutes {
  const links: readonly WelcomeLink[] = [
    CONSOLE,
    ...(demo === undefined ? [] : [DEMO]),
    { path: '/docs', title: 'Docs', summary: 'the API, the socket, errors, agents.' },
    ...(metricsPath === undefined
      ? []
      : [{ path: metricsPath, title: 'Metrics', summary: 'for Prometheus.' }]),
    { path: '/readyz', title: 'Health', summary: 'whether this node can serve.' },
  ];
  const welcome: PublicRoute = (request) => {
    const isLocal = demo !== undefined && isOwnPage(request);
    return answer(
      welcomePage({
        version,
        links: isLocal ? links : links.filter((link) => link !== DEMO),
        hasDemo: isLocal,
        runsOn: isLocal ? runsOn() : undefined,
        commands: isLocal ? demo.commands() : undefined,
      }),
    );
  };
  return { '/': welcome, ...(demo === undefined ? {} : demoRoutes(demo, links)) };
}

const CONSOLE: WelcomeLink = {
  path: '/console/',
  title: 'Console',
  summary: 'conversations, search, agents and administration in a browser.',
};

const DEMO: WelcomeLink = {
  path: '/demo',
  title: 'Demo',
  summary: 'three people of the demo account side by side, live.',
};

function demoRoutes({ session }: ConsoleDemo, links: readonly WelcomeLink[]): PublicRoutes {
  const page = documentRoute(() =>
    demoPage(links.map((link) => (link === DEMO ? { ...link, current: true } : link))),
  );
  return {
    '/demo': (request) => {
      requireLocalHost(request);
      return page(request);
    },
    '/demo/session': {
      post: async (request) => {
        requireLocalHost(request);
        if (request.origin === undefined || !isOwnOrigin(request)) {
          const message = 'Only the demo page of this server can call this endpoint.';
          throw new ApiError('insufficient_permissions', message, { param: 'Origin' });
        }
        return { status: 200, body: JSON.stringify(await session()), headers: PRIVATE };
      },
    },
    ...Object.fromEntries(
      readdirSync(ASSETS).map((name) => [
        `/demo/assets/${name}`,
        documentRoute(async () => ({
          contentType: CONTENT_TYPES[extname(name)]!,
          body: await readFile(new URL(name, ASSETS)),
        })),
      ]),
    ),
  };
}

/** Every file of the folder is served. */
const ASSETS = new URL('assets/', import.meta.url);
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

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
