import {
  type BuiltPageOptions,
  builtAssetRoutes,
  builtDocument,
  builtPagePolicy,
} from '../../api/documents/built-page.ts';
import { documentRoute } from '../../api/documents/documents.ts';
import type { PublicRoutes } from '../../api/pipeline/public-routes.ts';
import { mailFrameRoutes } from './mail-frame.ts';

const PAGE: BuiltPageOptions = {
  built: new URL('../../../packages/console/dist/', import.meta.url),
  assets: '/console/assets',
  title: 'Parley',
  what: 'console',
};

/**
 * Returns the routes of the console: one document for every path below `/console/`, whose script
 * reads the path, and its files. `filesOrigin`: the other host that has uploaded files, if any.
 */
export function consolePageRoutes({
  filesOrigin,
}: {
  readonly filesOrigin?: string | undefined;
}): PublicRoutes {
  const policy = builtPagePolicy(filesOrigin, OWN_POLICY);
  const page = documentRoute(() => builtDocument(PAGE), { 'Content-Security-Policy': policy });
  return {
    '/console': page,
    '/console/*': page,
    '/console/push-worker.js': PUSH_WORKER,
    ...mailFrameRoutes(filesOrigin),
    ...builtAssetRoutes(PAGE),
  };
}

const OWN_POLICY = {
  'manifest-src': "'self'",
  'worker-src': "'self'",
  'form-action': "'self'",
  // The HTML of mail.
  'frame-src': "'self'",
};

/** The service worker of the page, whose scope is its folder (docs/sdk.md#web-push). */
const PUSH_WORKER = documentRoute(() => ({
  contentType: 'text/javascript; charset=utf-8',
  body: Buffer.from("importScripts('/v1/push-worker.js');\n"),
}));
