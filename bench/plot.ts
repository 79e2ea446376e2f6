/**
 * `npm run bench -- plot`: draws the curves and the bars of the newest results as SVG into
 * bench/pictures.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from './lib/checkout.ts';
import { RESULTS } from './lib/result-file.ts';
import { drawBars } from './lib/svg-bars.ts';
import { plot } from './lib/svg-plot.ts';
import type { Findings } from './lib/work.ts';

const PICTURES = join(ROOT, 'bench/pictures');

/** Returns the exit code. */
export function runPlot(): number {
  const newest = new Map<string, { readonly draw: () => string; readonly from: string }>();
  // Names end in the time, so that a later result of the same work replaces an earlier one.
  for (const name of readdirSync(RESULTS)
    .filter((name) => /^.*-\d{4}-.*\.json$/.test(name))
    .sort()) {
    const { curves = {}, bars = {} }: Findings = JSON.parse(readFileSync(join(RESULTS, name), 'utf8'));
    for (const [picture, one] of Object.entries(curves))
      newest.set(picture, { draw: () => plot(one), from: name });
    for (const [picture, one] of Object.entries(bars))
      newest.set(picture, { draw: () => drawBars(one), from: name });
  }
  if (newest.size === 0) {
    process.stderr.write('There is nothing to draw yet: run "npm run bench -- full p3 p13 parts" first.\n');
    return 1;
  }
  mkdirSync(PICTURES, { recursive: true });
  for (const [picture, { draw, from }] of newest) {
    const path = join(PICTURES, `${picture}.svg`);
    writeFileSync(path, draw());
    process.stdout.write(`${relative(ROOT, path)} from ${from}\n`);
  }
  return 0;
}
