import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Document } from '../documents.ts';

/** What pages load, by its name under /docs/assets/; read when it is first asked for. */
export const ASSETS: Readonly<Record<string, () => Promise<Document>>> = {
  'docs.css': ours('docs.css', 'text/css; charset=utf-8'),
  'prose.css': ours('prose.css', 'text/css; charset=utf-8'),
  'reference.css': ours('reference.css', 'text/css; charset=utf-8'),
  'reference.js': ours('reference.js', 'text/javascript; charset=utf-8'),
  'icon.svg': ours('icon.svg', 'image/svg+xml'),
  'swagger-ui.css': swagger('swagger-ui.css', 'text/css; charset=utf-8'),
  'swagger-ui-bundle.js': swagger('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
};

function ours(file: string, contentType: string) {
  return async () => ({ contentType, body: await readFile(new URL(file, import.meta.url)) });
}

function swagger(file: string, contentType: string) {
  return async () => ({ contentType, body: await readFile(require.resolve(`swagger-ui-dist/${file}`)) });
}

const require = createRequire(import.meta.url);
