import type { PublicRoutes } from '../pipeline/public-routes.ts';
import { readBuiltFile, whyUnbuilt } from './built-file.ts';
import { documentRoute } from './documents.ts';

export const CLIENT_PATH = '/v1/client.js';

/**
 * Returns the routes of the SDK that `npm run build` made: a module for pages without a build, its
 * declarations, and the package by its former name (registry/ has it by its own). Without a build
 * they are 404 and say why.
 */
export function clientRoutes(): PublicRoutes {
  const offered = Object.entries(CONTENT_TYPES).map(([name, contentType]) => [
    `/v1/${name}`,
    documentRoute(async () => ({ contentType, body: await readBuilt(name) })),
  ]);
  return Object.fromEntries(offered);
}

const CONTENT_TYPES = {
  'client.js': 'text/javascript; charset=utf-8',
  'client.d.ts': 'text/plain; charset=utf-8',
  'client.tgz': 'application/gzip',
} as const;

const BUILT = new URL('../../../packages/client/npm/dist/', import.meta.url);

/**
 * Reads a file that a build makes for servers. Rejects with ApiError `resource_not_found`, whose
 * message says why the file is missing.
 */
export function readBuilt(name: string): Promise<Buffer> {
  return readBuiltFile(BUILT, `served/${name}`, 'package of the SDK');
}

/**
 * Returns the warning of a server that was installed without a build, such as by
 * `npm ci --omit=dev`; undefined after a build. One build makes all that servers offer to browsers.
 */
export async function unbuiltWarning(): Promise<string | undefined> {
  const why = await whyUnbuilt(BUILT);
  return (
    why &&
    `The console, the widget and the SDK are missing, because ${why}. Run "npm ci" without --omit=dev where the server is installed.`
  );
}
