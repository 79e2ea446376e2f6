import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { readBuiltFile } from '../../platform/http/documents/built-file.ts';
import { type Document, documentRoute } from '../../platform/http/documents/documents.ts';
import { html } from '../../platform/http/documents/pages/html.ts';
import type { PublicRoutes } from '../../platform/http/pipeline/public-routes.ts';

const BUILT = new URL('dist/', import.meta.url);
const ASSETS = new URL('assets/', BUILT);
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/**
 * The console: one document for every path below `/console/`, whose script reads the path, and its
 * files, which `npm run build` has made. `filesOrigin` is where files are uploaded to and read
 * from, if that is another host.
 */
export function consolePageRoutes({
  filesOrigin,
}: {
  readonly filesOrigin?: string | undefined;
}): PublicRoutes {
  const headers = { 'Content-Security-Policy': contentPolicy(filesOrigin) };
  const page = documentRoute(consoleDocument, headers);
  const assets = assetNames().map((name) => {
    const make = async () => ({
      contentType: CONTENT_TYPES[extname(name)]!,
      body: await readFile(new URL(name, ASSETS)),
    });
    return [`/console/assets/${name}`, documentRoute(make, { 'Cache-Control': KEPT })] as const;
  });
  return {
    ...{ '/console': page, '/console/*': page, '/console/push-worker.js': PUSH_WORKER },
    ...Object.fromEntries(assets),
  };
}

/** The service worker of the page, whose scope is its folder (docs/sdk.md#web-push). */
const PUSH_WORKER = documentRoute(() => ({
  contentType: 'text/javascript; charset=utf-8',
  body: Buffer.from("importScripts('/v1/push-worker.js');\n"),
}));

/** A name has the hash of its content. */
const KEPT = 'public, max-age=31536000, immutable';

/** Nothing inline, nothing of another host, and no text becomes HTML or a script. */
function contentPolicy(filesOrigin = ''): string {
  const files = filesOrigin === '' ? '' : ` ${filesOrigin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' blob: data:${files}`,
    `media-src 'self' blob:${files}`,
    `connect-src 'self'${files}`,
    "font-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types parley',
  ].join('; ');
}

/** Returns none where nothing was built. */
function assetNames(): string[] {
  try {
    return readdirSync(ASSETS).filter((name) => extname(name) in CONTENT_TYPES);
  } catch {
    return [];
  }
}

async function consoleDocument(): Promise<Document> {
  const built = await readBuiltFile(BUILT, 'page.json', 'console');
  const { script, style, preloads } = JSON.parse(built.toString()) as {
    readonly script: string;
    readonly style: string;
    readonly preloads: readonly string[];
  };
  const asset = (name: string) => `/console/assets/${name}`;
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Parley</title>
<link rel="icon" type="image/svg+xml" href="/docs/assets/icon.svg">
<link rel="stylesheet" href="${asset(style)}">
${preloads.map((name) => html`<link rel="modulepreload" href="${asset(name)}">`)}
<script type="module" src="${asset(script)}"></script>
</head>
<body>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`;
  return { contentType: 'text/html; charset=utf-8', body: Buffer.from(text) };
}
