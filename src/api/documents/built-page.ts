import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { PublicRoutes } from '../pipeline/public-routes.ts';
import { readBuiltFile } from './built-file.ts';
import { type Document, documentRoute, KEPT_FOR_GOOD } from './documents.ts';
import { type Html, html } from './pages/html.ts';

/** A page that `npm run build` has made (bin/build/pages.ts). */
export interface BuiltPageOptions {
  /** The folder of the build, with `page.json` and `assets/`. */
  readonly built: URL;
  /** The file that names the page's files, if the folder has several pages. */
  readonly page?: string;
  /** The path below which the files are served. */
  readonly assets: string;
  readonly title: string;
  /** The language of the document, before its script may choose another. */
  readonly language?: { readonly tag: string; readonly direction: 'ltr' | 'rtl' };
  /** What is shown until the script has run. */
  readonly shell?: Html;
  /** Name for messages of what the server lacks without a build. */
  readonly what: string;
}

/**
 * Returns the routes of the page's files. Their names have the hash of their content, so browsers
 * keep them for good. Without a build there are no routes.
 */
export function builtAssetRoutes({ built, assets }: BuiltPageOptions): PublicRoutes {
  const folder = new URL('assets/', built);
  const routes = namesIn(folder).map((name) => {
    const make = async () => ({
      contentType: CONTENT_TYPES[extname(name)]!,
      body: await readFile(new URL(name, folder)),
    });
    return [`${assets}/${name}`, documentRoute(make, { 'Cache-Control': KEPT_FOR_GOOD })] as const;
  });
  return Object.fromEntries(routes);
}

/** Returns the document, whose body its script fills. Rejects as `readBuiltFile` does. */
export async function builtDocument({
  built,
  page = 'page.json',
  assets,
  title,
  language = { tag: 'en', direction: 'ltr' },
  shell = html``,
  what,
}: BuiltPageOptions): Promise<Document> {
  const names = await readBuiltFile(built, page, what);
  const { script, style, preloads } = JSON.parse(names.toString()) as {
    readonly script: string;
    readonly style?: string;
    readonly preloads: readonly string[];
  };
  const { text } = html`<!doctype html>
<html lang="${language.tag}" dir="${language.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="/docs/assets/icon.svg">
${style === undefined ? [] : [html`<link rel="stylesheet" href="${assets}/${style}">`]}
${preloads.map((name) => html`<link rel="modulepreload" href="${assets}/${name}">`)}
<script type="module" src="${assets}/${script}"></script>
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
${shell}</body>
</html>
`;
  return { contentType: 'text/html; charset=utf-8', body: Buffer.from(text) };
}

/**
 * Returns the content policy of such a page: nothing inline, nothing of another host but files at
 * `filesOrigin`, and no text that becomes HTML or a script. `more` adds to it and replaces.
 */
export function builtPagePolicy(filesOrigin = '', more: Readonly<Record<string, string>> = {}): string {
  const files = filesOrigin === '' ? '' : ` ${filesOrigin}`;
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': `'self' blob: data:${files}`,
    'media-src': `'self' blob:${files}`,
    'connect-src': `'self'${files}`,
    'font-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...more,
    'require-trusted-types-for': "'script'",
    'trusted-types': 'parley',
  };
  return Object.entries(policy)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.woff2': 'font/woff2',
};

function namesIn(folder: URL): string[] {
  try {
    return readdirSync(folder).filter((name) => extname(name) in CONTENT_TYPES);
  } catch {
    return [];
  }
}
