import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The release as named in package.json, and the version of Node that runs it. */
export const BUILD: { readonly version: string; readonly node: string } = {
  version: JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')).version,
  node: process.versions.node,
};
