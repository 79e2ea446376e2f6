import { ApiError } from '@parley/protocol/errors/errors.ts';
import {
  directionOf,
  languageOf,
  WIDGET_LANGUAGES,
  type WidgetLanguage,
} from '@parley/protocol/resources/widget-languages.ts';
import { readBuiltFile } from '../../../api/documents/built-file.ts';
import {
  type BuiltPageOptions,
  builtAssetRoutes,
  builtDocument,
  builtPagePolicy,
} from '../../../api/documents/built-page.ts';
import { DOCUMENT_HEADERS, type Document, documentRoute } from '../../../api/documents/documents.ts';
import { html } from '../../../api/documents/pages/html.ts';
import type {
  PublicAnswer,
  PublicRequest,
  PublicRoute,
  PublicRoutes,
} from '../../../api/pipeline/public-routes.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { findOffered } from '../widgets/widget-store.ts';

export interface FrameRoutesOptions {
  readonly database: Database;
  /** The origin of file downloads, if it is another host. */
  readonly filesOrigin?: string | undefined;
}

/**
 * Returns the routes of the files that `npm run build` made: the loader, and the pages of the panel
 * and of the bubble, whose headers name the sites that may embed them
 * (src/features/widgets/README.md). `built`: the folder of the build.
 */
export function frameRoutes({ database, filesOrigin }: FrameRoutesOptions, built = BUILT): PublicRoutes {
  const frame = { built, assets: '/widget/assets', title: 'Chat', what: 'widget' };
  const pages = new Map(WIDGET_LANGUAGES.map((tag) => [tag, pageIn(tag, frame)]));
  const bubble = documentRoute(() => builtDocument({ ...frame, page: 'bubble.json', title: 'News' }));
  /** Returns the route of a page that the widget's sites alone embed. */
  const framed =
    (pageFor: (request: PublicRequest) => PublicRoute): PublicRoute =>
    async (request) => {
      const sites = await sitesOf(database, request);
      if (sites === undefined) return NOT_FOUND;
      const answer = await pageFor(request)(request);
      return { ...answer, headers: { ...answer.headers, ...frameHeaders(sites, filesOrigin) } };
    };
  return {
    '/widget.js': documentRoute(() => loaderDocument(built), LOADER_HEADERS),
    '/widget/frame': framed((request) => pages.get(languageIn(request))!),
    '/widget/bubble': framed(() => bubble),
    ...builtAssetRoutes(frame),
  };
}

/** Returns the document in a language: an empty panel, which its script fills. */
function pageIn(tag: WidgetLanguage, frame: BuiltPageOptions): PublicRoute {
  const language = { tag, direction: directionOf(tag) };
  return documentRoute(() => builtDocument({ ...frame, language, shell: SHELL }));
}

/** Looks like the panel at its start (packages/widget/main.css). */
const SHELL = html`<div class="shell chat" aria-hidden="true">
<div class="chat-head" data-large="true"><span class="shell-face"></span><span class="shell-name"></span></div>
<div class="chat-body shell-body"></div>
<div class="shell-field"></div>
</div>
`;

/** Returns the language that the address of the frame names, else English. */
function languageIn({ query }: Pick<PublicRequest, 'query'>): WidgetLanguage {
  return languageOf([new URLSearchParams(query).get('lang') ?? '']);
}

/** The folder that `npm run build` writes. */
export const BUILT = new URL('../../../../packages/widget/dist/', import.meta.url);

/**
 * Headers of the loader, which pages of other sites load, also as a module or in isolation from
 * other origins.
 */
const LOADER_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Cache-Control': 'public, max-age=300, stale-while-revalidate=86400',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;

/** Returns the sites of an enabled widget that the address names with its account. */
async function sitesOf(
  database: Database,
  { query }: Pick<PublicRequest, 'query'>,
): Promise<readonly string[] | undefined> {
  const named = new URLSearchParams(query);
  try {
    const { account_id, sites } = await findOffered(database, named.get('widget') ?? '');
    return account_id === named.get('account') ? sites : undefined;
  } catch (error) {
    if (error instanceof ApiError && error.condition === 'resource_not_found') return undefined;
    throw error;
  }
}

/**
 * Returns headers by which only the widget's sites embed the frame. They are never cached: a change
 * of the sites holds at once.
 */
function frameHeaders(
  sites: readonly string[],
  filesOrigin: string | undefined,
): Readonly<Record<string, string>> {
  return {
    'Content-Security-Policy': builtPagePolicy(filesOrigin, { 'frame-ancestors': sites.join(' ') }),
    'Permissions-Policy': PERMISSIONS_POLICY,
    // A page that is isolated from other origins embeds only resources that allow it.
    'Cross-Origin-Resource-Policy': 'cross-origin',
  };
}

const PERMISSIONS_POLICY = [
  'accelerometer',
  'autoplay',
  'camera',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'geolocation',
  'gyroscope',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'usb',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'xr-spatial-tracking',
]
  .map((feature) => `${feature}=()`)
  .join(', ');

const NOT_FOUND: PublicAnswer = {
  status: 404,
  contentType: 'text/html; charset=utf-8',
  body: Buffer.from(
    html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>No such widget</title>
</head>
<body>
<p>There is no such widget, or it is switched off.</p>
</body>
</html>
`.text,
  ),
  headers: {
    ...DOCUMENT_HEADERS,
    'Cache-Control': 'no-store',
    'Content-Security-Policy':
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  },
};

async function loaderDocument(built: URL): Promise<Document> {
  const body = await readBuiltFile(built, 'widget.js', 'widget');
  return { contentType: 'text/javascript; charset=utf-8', body };
}
