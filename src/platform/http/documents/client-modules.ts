import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { relative } from 'node:path/posix';
import { notFound } from '../../../contract/protocol/errors.ts';
import type { PublicRoute, PublicRoutes } from '../pipeline/public-routes.ts';
import { type Document, documentRoute } from './documents.ts';

export const CLIENT_PATH = '/v1/client.js';

/**
 * The SDK for browsers: src/contract/client/ and its imports from src/contract/protocol/, module by
 * module, with the types removed and no build step. Every page revalidates each module
 * (documents.ts), so it never runs modules of two releases. Pages of other origins follow the
 * server's usual rule.
 */
export function clientRoutes(): PublicRoutes {
  let reading: Promise<ReadonlyMap<string, PublicRoute>> | undefined;
  const module: PublicRoute = async (request) => {
    reading ??= readModules().catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
    const route = (await reading).get(request.path);
    if (route === undefined) throw notFound('module');
    return route(request);
  };
  const entry = documentRoute(() => javaScript(`export * from './${relative('/v1', pathOf(ENTRY))}';\n`));
  return { [CLIENT_PATH]: entry, '/v1/client/*': module, '/v1/protocol/*': module };
}

const SOURCES = new URL('../../../contract/', import.meta.url);
const ENTRY = new URL('client/index.ts', SOURCES);

/** Returns, by path, the entry and the modules imported from it; nothing else is served. */
async function readModules(): Promise<ReadonlyMap<string, PublicRoute>> {
  const routes = new Map<string, PublicRoute>();
  const unread = [ENTRY];
  for (let url = unread.pop(); url !== undefined; url = unread.pop()) {
    const path = pathOf(url);
    if (routes.has(path)) continue;
    const text = withoutTypes(await readFile(url, 'utf8'));
    for (const [, , specifier = ''] of text.matchAll(IMPORT)) unread.push(new URL(`${specifier}.ts`, url));
    const document = javaScript(text.replaceAll(IMPORT, '$1$2.js'));
    routes.set(
      path,
      documentRoute(() => document),
    );
  }
  return routes;
}

/** Serves src/contract/client/index.ts as /v1/client/index.js: relative imports stay valid. */
function pathOf(url: URL): string {
  return `/v1/${url.href.slice(SOURCES.href.length).replace(/\.ts$/, '.js')}`;
}

/** Static imports and re-exports of our files, up to `.ts`. Type imports are gone by then. */
const IMPORT = /(^(?:import|export)\b[^'"`;]*?\bfrom\s*')(\.{1,2}\/[^'"]+)\.ts(?=')/gm;

/** Suppresses Node's experimental warning, because standard error has JSON lines only. */
function withoutTypes(text: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(text).replace(/[ \t]+$/gm, '');
  } finally {
    process.emitWarning = emitWarning;
  }
}

function javaScript(text: string): Document {
  return { contentType: 'text/javascript; charset=utf-8', body: Buffer.from(text) };
}
