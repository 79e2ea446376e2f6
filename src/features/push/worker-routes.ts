import { readFile } from 'node:fs/promises';
import { documentRoute } from '../../platform/http/documents/documents.ts';
import type { PublicRoutes } from '../../platform/http/pipeline/public-routes.ts';

/** Serves the part of a page's service worker that shows pushes (docs/sdk.md#web-push). */
export function workerRoutes(): PublicRoutes {
  return {
    '/v1/push-worker.js': documentRoute(async () => ({
      contentType: 'text/javascript; charset=utf-8',
      body: await readFile(new URL('assets/push-worker.js', import.meta.url)),
    })),
  };
}
