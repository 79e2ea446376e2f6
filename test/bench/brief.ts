import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { findPgbench } from '../../bench/lib/pgbench.ts';
import { Runner } from '../../bench/lib/runner.ts';
import type { Findings, Work } from '../../bench/lib/work.ts';
import { WORKS } from '../../bench/works.ts';
import { findProgram } from '../support/debian-program.ts';

/** Works by the file of test/long/bench/ that runs them; test/bench/brief.test.ts covers all. */
export const NAMES = {
  sends: ['p1', 'p2', 'p3', 'webhooks', 'parts'],
  sockets: ['p4', 'p5', 'p6', 'p10', 'slow-readers'],
  rows: ['p14', 'first-request', 'timeline', 'search', 'inbox', 'import', 'p13'],
  nodes: ['p7', 'p8', 'p9', 'p12', 'garbage', 'processes', 'autocannon'],
  beside: ['beside'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Runs works in blocks of a fraction of a second: each has figures, for ours and every control. */
export async function runBriefly(t: Test, set: keyof typeof NAMES): Promise<void> {
  if (findPgbench() === undefined) await findProgram(PGBENCH);
  const names: readonly string[] = NAMES[set];
  for (const work of WORKS.filter(({ name }) => names.includes(name))) {
    await t.test(`${work.name}: ${work.title}`, (t) => run(t, work));
  }
}

const PGBENCH = {
  names: ['pgbench'],
  package: 'postgresql',
  advice: 'the bench needs pgbench (Debian and Ubuntu: apt-get install postgresql)',
};

async function run(t: Test, work: Work): Promise<void> {
  const results = t.testdir();
  const said: string[] = [];
  const runner = new Runner({ results, fingerprint: null, say: (line) => void said.push(line) });
  const { failed } = await runner.run([work], { scale: 'brief', afresh: true });
  t.strictSame(failed, [], said.join('\n'));
  const [file] = readdirSync(results);
  if (file === undefined) return;
  const { rows, comparisons, bars }: Findings = JSON.parse(readFileSync(join(results, file), 'utf8'));
  t.ok(rows.length > 0 || Object.keys(bars ?? {}).length > 0, 'it has figures');
  for (const { work: row, ours, control } of rows) t.notMatch(`${ours} ${control}`, /NaN|undefined/, row);
  for (const [name, { ours, control }] of Object.entries(comparisons ?? {})) {
    for (const side of [ours, control]) {
      const figures = side.blocks.map(({ figure }) => figure);
      t.ok(figures.length > 0 && figures.every(Number.isFinite), `${name}, ${side.name}: ${figures}`);
    }
  }
}
