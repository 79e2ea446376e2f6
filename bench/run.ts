/** `npm run bench [-- full] [<name> …]`: runs works (bench/README.md), prints one table, keeps every block. */

import { inspect } from 'node:util';
import { Disposer } from '../src/lifecycle.ts';
import { currentLoad, writeResult } from './lib/result-file.ts';
import { renderTable } from './lib/table.ts';
import type { Row, Work } from './lib/work.ts';
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
import { SLOW_READERS } from './slow-readers.ts';

const WORKS: readonly Work[] = [P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P12, SLOW_READERS];

const USAGE = `npm run bench                 every work, short blocks: says whether something broke
npm run bench -- full         every work, long blocks and ten pairs: figures to quote
npm run bench -- [full] p2 …  some works
works: ${WORKS.map(({ name, title }) => `${name} (${title})`).join(', ')}
`;

async function main(args: readonly string[]): Promise<number> {
  const names = args.filter((arg) => arg !== 'full');
  const unknown = names.filter((name) => !WORKS.some((work) => work.name === name));
  if (unknown.length > 0) {
    process.stderr.write(`no work called ${unknown.join(', ')}\n${USAGE}`);
    return 2;
  }
  const full = args.includes('full');
  const works = WORKS.filter(({ name, fullOnly }) =>
    names.length === 0 ? full || fullOnly !== true : names.includes(name),
  );
  const rows: Row[] = [];
  let code = 0;
  for (const work of works) {
    try {
      rows.push(...(await measure(work, full)));
    } catch (error) {
      if (interrupted) break;
      process.stderr.write(`${work.name} has no figures: ${inspect(error)}\n`);
      code = 1;
    }
  }
  process.stdout.write(`\n${renderTable(rows)}\n`);
  return interrupted ? 130 : code;
}

let interrupted = false;
let running: Disposer | undefined;

/** Everything that the work started is gone when this settles, whatever became of it. */
async function measure(work: Work, full: boolean): Promise<readonly Row[]> {
  const startedAt = new Date();
  const loadBefore = currentLoad();
  const disposer = new Disposer();
  running = disposer;
  try {
    const findings = await work.run({ full, disposer, say: (line) => process.stderr.write(`${line}\n`) });
    const tookMs = Date.now() - startedAt.getTime();
    const path = writeResult({ name: work.name, full, startedAt, tookMs, loadBefore, ...findings });
    process.stderr.write(`${work.name}: every block is in ${path}\n`);
    return findings.rows;
  } finally {
    await disposer.close();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupted) return;
    interrupted = true;
    // The running work fails without its server, and the run ends with that error.
    running?.close().catch((error: unknown) => process.stderr.write(`${error}\n`));
  });
}

process.exit(await main(process.argv.slice(2)));
