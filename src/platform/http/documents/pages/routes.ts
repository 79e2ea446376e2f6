import type { PublicRoutes } from '../../pipeline/public-routes.ts';
import type { Route } from '../../pipeline/route.ts';
import { DOCUMENT_HEADERS, type Document, documentRoute } from '../documents.ts';
import { asyncApiDocument } from '../openapi/asyncapi.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { accessPage } from './access-page.ts';
import { agentsPage } from './agents-page.ts';
import { ASSETS } from './assets.ts';
import { errorsPage } from './errors-page.ts';
import { GUIDES, guidesPage, pageOfGuide, pathOf } from './guides/guides.ts';
import { missingPage } from './missing-page.ts';
import { PAGES } from './page.ts';
import { type ReferenceDocument, referencePage } from './reference-page.ts';
import { socketPage } from './socket-page.ts';
import { statesPage } from './states-page.ts';

export interface DocsOptions {
  /** The whole table; everything is made from it. */
  readonly routes: readonly Route[];
  readonly docsUrl: string;
}

/**
 * The API described for machines and for people: /v1/openapi.json, /v1/asyncapi.json and the pages
 * under /docs.
 */
export function docsRoutes({ routes, docsUrl }: DocsOptions): PublicRoutes {
  const openApi = () => openApiDocument({ routes, docsUrl });
  const reference = documentRoute(() => referencePage(openApi() as ReferenceDocument));
  const assets = Object.entries(ASSETS).map(([name, read]) => [`/docs/assets/${name}`, documentRoute(read)]);
  const guides = GUIDES.map((name) => [pathOf(name), documentRoute(() => pageOfGuide(name))]);
  return {
    '/v1/openapi.json': documentRoute(() => json(openApi())),
    '/v1/asyncapi.json': documentRoute(() => json(asyncApiDocument())),
    [PAGES.reference.path]: reference,
    [`${PAGES.reference.path}/`]: reference,
    [PAGES.guides.path]: documentRoute(guidesPage),
    ...Object.fromEntries(guides),
    [PAGES.socket.path]: documentRoute(socketPage),
    [PAGES.errors.path]: documentRoute(() => errorsPage(docsUrl)),
    [PAGES.agents.path]: documentRoute(() => agentsPage(routes)),
    [PAGES.states.path]: documentRoute(statesPage),
    [PAGES.access.path]: documentRoute(() => accessPage(routes)),
    ...Object.fromEntries(assets),
    // Addresses below /docs are typed by people, in browsers.
    '/docs/*': () => ({ status: 404, ...missingPage(), headers: DOCUMENT_HEADERS }),
    '/favicon.ico': documentRoute(ASSETS['icon.svg']!),
    '/robots.txt': documentRoute(() => ({
      contentType: 'text/plain; charset=utf-8',
      body: Buffer.from('User-agent: *\nAllow: /docs\nDisallow: /\n'),
    })),
  };
}

function json(value: object): Document {
  return { contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}
