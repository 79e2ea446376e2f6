import { readFile } from 'node:fs/promises';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { STATE_MACHINES, type StateMachine } from '@parley/protocol/states/state-machines.ts';
import { VERSIONS, type Version } from '@parley/protocol/versions.ts';
import type { PublicRoute, PublicRoutes } from '../../pipeline/public-routes.ts';
import { requireVersion } from '../../pipeline/spoken-version.ts';
import { DOCUMENT_HEADERS, type Document, documentRoute } from '../documents.ts';
import { asyncApiDocument } from '../openapi/asyncapi.ts';
import { type OpenApiOptions, openApiDocument } from '../openapi/openapi.ts';
import { readTexts, type Texts } from '../openapi/texts.ts';
import { accessPage } from './access-page.ts';
import { agentsPage } from './agents-page.ts';
import { errorsPage } from './errors-page.ts';
import { type Guide, guidesPage, pageOfGuide, pathOf } from './guides.ts';
import { code, type Html, html, prose, table } from './html.ts';
import { operationsPage } from './operations-page.ts';
import { markdownPage, PAGES, pageOf } from './page.ts';
import { type ReferenceDocument, referencePage } from './reference-page.ts';
import { socketPage } from './socket-page.ts';

interface DocsOptions extends Pick<OpenApiOptions, 'routes' | 'docsUrl'> {
  /** The files with the description of each operation, by its name; read at the first request. */
  readonly operations: readonly URL[];
  /** In reading order. */
  readonly guides: readonly Guide[];
}

/** Serves /v1/openapi.json, /v1/asyncapi.json and the pages under /docs. */
export function docsRoutes({ routes, docsUrl, operations, guides }: DocsOptions): PublicRoutes {
  let texts: Texts | undefined;
  const openApi = (version?: Version) => {
    texts ??= readTexts(operations);
    return openApiDocument({ routes, docsUrl, texts, ...(version && { version }) });
  };
  const reference = documentRoute(() => referencePage(openApi() as ReferenceDocument));
  const assets = Object.entries(ASSETS).map(([name, read]) => [`/docs/assets/${name}`, documentRoute(read)]);
  const guidePages = guides.map((guide) => [pathOf(guide), documentRoute(() => pageOfGuide(guide, guides))]);
  return {
    '/v1/openapi.json': byVersion((version) => json(openApi(version))),
    '/v1/asyncapi.json': documentRoute(() => json(asyncApiDocument())),
    [PAGES.reference.path]: reference,
    [`${PAGES.reference.path}/`]: reference,
    [PAGES.guides.path]: documentRoute(() => guidesPage(guides)),
    ...Object.fromEntries(guidePages),
    [PAGES.sdk.path]: sdkRoute(() => Object.keys((openApi() as ReferenceDocument).components.schemas)),
    [PAGES.socket.path]: documentRoute(socketPage),
    [PAGES.errors.path]: documentRoute(() => errorsPage(docsUrl)),
    [PAGES.agents.path]: documentRoute(() => agentsPage(routes)),
    [PAGES.states.path]: documentRoute(statesPage),
    [PAGES.access.path]: documentRoute(() => accessPage(routes)),
    [PAGES.operations.path]: documentRoute(operationsPage),
    ...Object.fromEntries(assets),
    // People type addresses below /docs, in browsers.
    '/docs/*': () => ({ status: 404, ...missingPage(), headers: DOCUMENT_HEADERS }),
    '/favicon.ico': documentRoute(ASSETS['icon.svg']!),
    '/robots.txt': documentRoute(() => ({
      contentType: 'text/plain; charset=utf-8',
      body: Buffer.from('User-agent: *\nAllow: /docs\nDisallow: /\n'),
    })),
  };
}

/** Serves a document for each version that `?version=` may name, and one without a version. */
function byVersion(make: (version?: Version) => Document): PublicRoute {
  const all = documentRoute(() => make());
  const named = new Map<Version, PublicRoute>();
  return (request) => {
    const text = new URLSearchParams(request.query).get('version');
    if (text === null) return all(request);
    const version = requireVersion(text, VERSIONS[0], 'The parameter version is empty.', 'version');
    const route = named.get(version) ?? documentRoute(() => make(version));
    named.set(version, route);
    return route(request);
  };
}

function json(value: object): Document {
  return { contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}

/** Files by their name under /docs/assets/; read at the first request. */
const ASSETS: Readonly<Record<string, () => Promise<Document>>> = {
  'tokens.css': ours('../../../../packages/ui/tokens.css', 'text/css; charset=utf-8'),
  'docs.css': ours('docs.css', 'text/css; charset=utf-8'),
  'prose.css': ours('prose.css', 'text/css; charset=utf-8'),
  'reference.css': ours('reference.css', 'text/css; charset=utf-8'),
  'reference.js': ours('reference.js', 'text/javascript; charset=utf-8'),
  'sign-in.js': ours('sign-in.js', 'text/javascript; charset=utf-8'),
  'copy.js': ours('copy.js', 'text/javascript; charset=utf-8'),
  'icon.svg': ours('icon.svg', 'image/svg+xml'),
};

function ours(file: string, contentType: string) {
  return async () => ({ contentType, body: await readFile(new URL(file, import.meta.url)) });
}

/**
 * Serves the reference of the SDK, or the page that says why there is none, which is not cached.
 * The first request loads its code.
 */
function sdkRoute(resources: () => readonly string[]): PublicRoute {
  const page = () => import('./sdk-page.ts');
  const reference = documentRoute(async () => (await page()).sdkPage(new Set(resources())));
  return async (request) => {
    try {
      return await reference(request);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { status: 404, ...(await page()).unbuiltSdkPage(error.message), headers: DOCUMENT_HEADERS };
    }
  };
}

/** Answers mistyped addresses below /docs. */
function missingPage(): Document {
  return pageOf(undefined, {
    main: html`<h1>There is no such page</h1>
<p>The address may be mistyped, or the page may be of another version of this server. These are
there:</p>
<ul>
${Object.values(PAGES).map(({ path, title }) => html`<li><a href="${path}">${title}</a></li>`)}
</ul>`,
  });
}

/** Shows every state machine, from the tables that the code runs. */
function statesPage(): Promise<Document> {
  return markdownPage('states', { states: STATE_MACHINES.map(section) });
}

function section({ field, about, moves }: StateMachine): Html {
  const rows = Object.entries(moves).map(([name, { from, to, when }]) => [
    html`${name.replaceAll('_', ' ')}`,
    html`${from.map((state) => html`${stateOf(state)}`)}`,
    stateOf(to),
    prose(when),
  ]);
  return html`<section id="${field}">
<h2><a href="#${field}"><code>${field}</code></a></h2>
<p>${prose(about)}</p>
${table(['Move', 'From', 'To', 'When'], rows)}
</section>`;
}

/** Returns a state's HTML. `none` is the state before the resource exists. */
function stateOf(state: string): Html {
  return state === 'none' ? html`<span class="nothing">nothing</span>` : code(state);
}
