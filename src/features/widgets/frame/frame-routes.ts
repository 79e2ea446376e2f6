import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { ApiError } from '../../../contract/protocol/errors.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { readBuiltFile } from '../../../platform/http/documents/built-file.ts';
import {
  DOCUMENT_HEADERS,
  type Document,
  documentRoute,
} from '../../../platform/http/documents/documents.ts';
import { html } from '../../../platform/http/documents/pages/html.ts';
import type {
  PublicAnswer,
  PublicRequest,
  PublicRoutes,
} from '../../../platform/http/pipeline/public-routes.ts';
import { findOffered } from '../widgets/widget-store.ts';

export interface FrameRoutesOptions {
  readonly database: Database;
  /** Where files are read from, if that is another host. */
  readonly filesOrigin?: string | undefined;
}

/**
 * The files of the widget, as `npm run build` made them: the loader, and the frame, whose headers
 * say which sites may embed it (src/features/widgets/README.md). `built`: the folder of the build.
 */
export function frameRoutes({ database, filesOrigin }: FrameRoutesOptions, built = BUILT): PublicRoutes {
  const page = documentRoute(() => frameDocument(built));
  const folder = new URL('assets/', built);
  const assets = assetNames(folder).map((name) => {
    const make = async () => ({
      contentType: CONTENT_TYPES[extname(name)]!,
      body: await readFile(new URL(name, folder)),
    });
    return [`/widget/assets/${name}`, documentRoute(make, { 'Cache-Control': KEPT })] as const;
  });
  return {
    '/widget.js': documentRoute(() => loaderDocument(built), LOADER_HEADERS),
    '/widget/frame': async (request) => {
      const sites = await sitesOf(database, request);
      if (sites === undefined) return NOT_FOUND;
      const answer = await page(request);
      return { ...answer, headers: { ...answer.headers, ...frameHeaders(sites, filesOrigin) } };
    },
    ...Object.fromEntries(assets),
  };
}

/** Where `npm run build` puts it. */
export const BUILT = new URL('../dist/', import.meta.url);

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A name has the hash of its content. */
const KEPT = 'public, max-age=31536000, immutable';

/** Pages of other sites load it, also those that are isolated from other origins. */
const LOADER_HEADERS = {
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
 * Nothing inline, nothing of another host, no text that becomes HTML, and no site around it but
 * those of the widget. Never kept: a change of the sites holds at once.
 */
function frameHeaders(sites: readonly string[], filesOrigin = ''): Readonly<Record<string, string>> {
  const files = filesOrigin === '' ? '' : ` ${filesOrigin}`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' blob: data:${files}`,
    `media-src 'self' blob:${files}`,
    `connect-src 'self'${files}`,
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${sites.join(' ')}`,
    "require-trusted-types-for 'script'",
    'trusted-types parley',
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'Permissions-Policy': PERMISSIONS_POLICY,
    // A page that is isolated from other origins embeds only what allows it.
    'Cross-Origin-Resource-Policy': 'cross-origin',
  };
}

const PERMISSIONS_POLICY = [
  ...['accelerometer', 'autoplay', 'camera', 'display-capture', 'encrypted-media', 'fullscreen'],
  ...['geolocation', 'gyroscope', 'magnetometer', 'microphone', 'midi', 'payment', 'usb'],
  ...['publickey-credentials-get', 'screen-wake-lock', 'serial', 'storage-access', 'xr-spatial-tracking'],
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

/** Returns none where nothing was built. */
function assetNames(folder: URL): string[] {
  try {
    return readdirSync(folder).filter((name) => extname(name) in CONTENT_TYPES);
  } catch {
    return [];
  }
}

async function loaderDocument(built: URL): Promise<Document> {
  const body = await readBuiltFile(built, 'widget.js', 'widget');
  return { contentType: 'text/javascript; charset=utf-8', body };
}

async function frameDocument(built: URL): Promise<Document> {
  const names = await readBuiltFile(built, 'page.json', 'widget');
  const { script, style, preloads } = JSON.parse(names.toString()) as {
    readonly script: string;
    readonly style: string;
    readonly preloads: readonly string[];
  };
  const asset = (name: string) => `/widget/assets/${name}`;
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Chat</title>
<link rel="stylesheet" href="${asset(style)}">
${preloads.map((name) => html`<link rel="modulepreload" href="${asset(name)}">`)}
<script type="module" src="${asset(script)}"></script>
</head>
<body>
<noscript>The chat needs JavaScript.</noscript>
</body>
</html>
`;
  return { contentType: 'text/html; charset=utf-8', body: Buffer.from(text) };
}
