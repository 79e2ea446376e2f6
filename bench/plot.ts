/** `npm run bench -- plot`: draws the curves of the newest results as SVG into bench/pictures. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from './lib/checkout.ts';
import type { Curves } from './lib/curves.ts';
import { RESULTS } from './lib/result-file.ts';
import { plot } from './lib/svg-plot.ts';

const PICTURES = join(ROOT, 'bench/pictures');

/** Returns the exit code. */
export function runPlot(): number {
  const newest = new Map<string, { readonly curves: Curves; readonly from: string }>();
  // Names end in the time, so that a later result of the same work replaces an earlier one.
  for (const name of readdirSync(RESULTS)
    .filter((name) => /^.*-\d{4}-.*\.json$/.test(name))
    .sort()) {
    const content: { curves?: Record<string, Curves> } = JSON.parse(
      readFileSync(join(RESULTS, name), 'utf8'),
    );
    for (const [picture, curves] of Object.entries(content.curves ?? {}))
      newest.set(picture, { curves, from: name });
  }
  if (newest.size === 0) {
    process.stderr.write('There are no curves yet: run "npm run bench -- full p3 p13" first.\n');
    return 1;
  }
  mkdirSync(PICTURES, { recursive: true });
  for (const [picture, { curves, from }] of newest) {
    const path = join(PICTURES, `${picture}.svg`);
    writeFileSync(path, plot(curves));
    process.stdout.write(`${relative(ROOT, path)} from ${from}\n`);
  }
  return 0;
}
