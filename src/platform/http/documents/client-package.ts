import { readFile } from 'node:fs/promises';
import { ApiError } from '../../../contract/protocol/errors.ts';
import type { PublicRoutes } from '../pipeline/public-routes.ts';
import { documentRoute } from './documents.ts';

export const CLIENT_PATH = '/v1/client.js';

/**
 * The SDK as `npm run build` made it: one module for pages without a build, its declarations, and
 * the package for `npm install`. A node builds nothing; without a build they are 404 and say why.
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

const BUILT = new URL('../../../contract/client/dist/', import.meta.url);

/**
 * Reads a file of those that a build makes for servers. Rejects with ApiError `resource_not_found`,
 * whose message says why there is none.
 */
export async function readBuilt(name: string): Promise<Buffer> {
  return readFile(new URL(`served/${name}`, BUILT)).catch(async (cause) => {
    const failure = await readFile(new URL('failure.txt', BUILT), 'utf8').catch(() => undefined);
    const why = failure === undefined ? 'it was not built' : `its build failed: ${failure}`;
    const message = `This server has no package of the SDK, because ${why}. Run "npm run build" where it is installed.`;
    throw new ApiError('resource_not_found', message, { cause });
  });
}
