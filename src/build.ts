import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What runs: the release as package.json names it, and the Node that runs it. */
export const BUILD: { readonly version: string; readonly node: string } = {
  version: JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')).version,
  node: process.versions.node,
};
