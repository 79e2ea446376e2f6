import { readFile } from 'node:fs/promises';
import type { Document } from '../documents.ts';

/** Files that pages load, by their name under /docs/assets/; read at the first request. */
export const ASSETS: Readonly<Record<string, () => Promise<Document>>> = {
  'docs.css': ours('docs.css', 'text/css; charset=utf-8'),
  'prose.css': ours('prose.css', 'text/css; charset=utf-8'),
  'reference.css': ours('reference.css', 'text/css; charset=utf-8'),
  'reference.js': ours('reference.js', 'text/javascript; charset=utf-8'),
  'copy.js': ours('copy.js', 'text/javascript; charset=utf-8'),
  'icon.svg': ours('icon.svg', 'image/svg+xml'),
};

function ours(file: string, contentType: string) {
  return async () => ({ contentType, body: await readFile(new URL(file, import.meta.url)) });
}
