/**
 * `npm run bench [-- full] [<name> …]`: runs works (bench/README.md), prints one table, keeps every
 * block.
 */

import { inspect } from 'node:util';
import type { Disposer } from '../src/platform/lifecycle.ts';
import { runAgainst } from './against.ts';
import { BESIDE } from './beside.ts';
import { FIRST_REQUEST } from './first-request.ts';
import { GARBAGE } from './garbage.ts';
import { runGuard } from './guard.ts';
import { IMPORT } from './import.ts';
import { INBOX } from './inbox.ts';
import { fingerprint } from './lib/checkout.ts';
import { RESULTS } from './lib/result-file.ts';
import { Runner } from './lib/runner.ts';
import { renderTable } from './lib/table.ts';
import type { Work } from './lib/work.ts';
import { P1 } from './p1-notifications.ts';
import { P2 } from './p2-sends.ts';
import { P3 } from './p3-latency.ts';
import { P4 } from './p4-fanout.ts';
import { P5 } from './p5-bursts.ts';
import { P6 } from './p6-streaming.ts';
import { P7 } from './p7-idle-memory.ts';
import { P8 } from './p8-idle-time.ts';
import { P9 } from './p9-nodes.ts';
import { P10 } from './p10-resume.ts';
import { P12 } from './p12-steady-load.ts';
import { P13 } from './p13-growth.ts';
import { P14 } from './p14-start.ts';
import { runPlot } from './plot.ts';
import { PROCESSES } from './processes.ts';
import { SEARCH } from './search.ts';
import { SEND_PARTS } from './send-parts.ts';
import { SLOW_READERS } from './slow-readers.ts';
import { TIMELINE } from './timeline.ts';
import { WEBHOOKS } from './webhooks.ts';

const WORKS: readonly Work[] = [
  P1,
  P2,
  P3,
  P4,
  P5,
  P6,
  P7,
  P8,
  P9,
  P10,
  P12,
  P13,
  P14,
  GARBAGE,
  SEND_PARTS,
  TIMELINE,
  FIRST_REQUEST,
  SEARCH,
  SLOW_READERS,
  WEBHOOKS,
  INBOX,
  IMPORT,
  BESIDE,
  PROCESSES,
];

const USAGE = `npm run bench                    short blocks, one table: says whether something broke
npm run bench -- full            every work, long blocks and ten pairs: figures to quote. Goes on where an
                                 interrupted full run of the same code ended; -- full afresh does not
npm run bench -- [full] p2 …     some works
npm run bench -- guard           a minute: warns where processor time or memory grew ("guard record" records them)
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
  const { rows, failed } = await runner.run(works, { full, afresh });
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
