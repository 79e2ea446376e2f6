/** One file, since the commands of `app/` and the metrics say the same build. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const BUILD: { readonly version: string; readonly node: string } = {
  version: JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')).version,
  node: process.versions.node,
};
