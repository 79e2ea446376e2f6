import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Route } from '../../src/api/pipeline/route.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Returns every endpoint of this checkout as data, without a node behind it. The functions that
 * declare endpoints are found by their names, `…Routes` in a file `…routes.ts`. They use their
 * arguments only when an endpoint is called, and none is, so one object stands for every argument.
 */
export async function declaredEndpoints(): Promise<Route[]> {
  const found = new Map<string, Route>();
  for (const path of globSync('src/{core,features,edge}/**/*routes.ts', { cwd: ROOT }).sort()) {
    const declared: object = await import(pathToFileURL(join(ROOT, path)).href);
    for (const [name, declare] of Object.entries(declared)) {
      if (!name.endsWith('Routes') || typeof declare !== 'function') continue;
      const routes: unknown = declare(...Array.from({ length: declare.length }, () => ANYTHING));
      // Other routes are pages and files, by their paths.
      if (!Array.isArray(routes)) continue;
      for (const route of routes as Route[]) found.set(`${route.method} ${route.path}`, route);
    }
  }
  return [...found.values()];
}

/** Has every property and can be called; both give the same again. */
const ANYTHING: unknown = new Proxy(() => ANYTHING, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : ANYTHING),
});
