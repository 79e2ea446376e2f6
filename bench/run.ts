/**
 * `npm run bench [-- full] [<name> …]`: runs works (bench/README.md), prints one table, keeps every
 * block.
 */

import { inspect } from 'node:util';
import type { Disposer } from '../src/platform/lifecycle.ts';
import { runAgainst } from './against.ts';
import { runGuard } from './guard.ts';
import { fingerprint } from './lib/checkout.ts';
import { RESULTS } from './lib/result-file.ts';
import { Runner } from './lib/runner.ts';
import { renderTable } from './lib/table.ts';
import { runPlot } from './plot.ts';
import { WORKS } from './works.ts';

const USAGE = `npm run bench                    short blocks, one table: says whether something broke
npm run bench -- full            every work, long blocks and ten pairs: figures to quote. Goes on where an
                                 interrupted full run of the same code ended; -- full afresh does not
npm run bench -- [full] p2 …     some works
npm run bench -- guard           two minutes: warns where processor time, memory or a p99 grew ("guard record" records them)
npm run bench -- plot            draws the newest results as pictures into bench/pictures
npm run bench -- against <url>   loads a running installation until its p99 breaks a limit
works: ${WORKS.map(({ name, title }) => `${name} (${title})`).join(', ')}
`;

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  if (command === 'plot') return runPlot();
  if (command === 'against') return runAgainst(rest);
  if (command === 'guard') return guard(rest);
  const [full, afresh] = ['full', 'afresh'].map((word) => args.includes(word)) as [boolean, boolean];
  const names = args.filter((arg) => arg !== 'full' && arg !== 'afresh');
  const unknown = names.filter((name) => !WORKS.some((work) => work.name === name));
  if (unknown.length > 0) {
    process.stderr.write(`There is no work called ${unknown.join(', ')}.\n${USAGE}`);
    return 2;
  }
  const works = WORKS.filter(({ name, fullOnly }) =>
    names.length === 0 ? full || fullOnly !== true : names.includes(name),
  );
  const runner = new Runner({
    results: RESULTS,
    fingerprint: fingerprint(),
    say: (line) => void process.stderr.write(`${line}\n`),
  });
  onSignal(() => runner.interrupt());
  const { rows, failed } = await runner.run(works, { scale: full ? 'full' : 'short', afresh });
  process.stdout.write(`\n${renderTable(rows)}\n`);
  if (runner.interrupted) return 130;
  return failed.length === 0 ? 0 : 1;
}

async function guard(args: readonly string[]): Promise<number> {
  let running: Disposer | undefined;
  // Without its servers the guard ends with an error.
  onSignal(() => void running?.close().catch(() => undefined));
  try {
    await runGuard(args, (disposer) => {
      running = disposer;
    });
    return 0;
  } catch (error) {
    process.stderr.write(`The guard has no figures: ${inspect(error)}\n`);
    return 1;
  }
}

function onSignal(call: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, call);
}

process.exit(await main(process.argv.slice(2)));
