/**
 * `npm run bench -- guard [record]`: within two minutes, the figures that a shared machine hardly
 * moves, compared with the recorded ones, and the p99 of the endpoints, compared with bounds. It
 * warns and never fails.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Disposer } from '../src/platform/lifecycle.ts';
import { openLatencies } from './autocannon.ts';
import { resumedBytes } from './garbage.ts';
import { type Bytes, openTraffic, TRAFFIC, TRAFFIC_ENV } from './lib/allocations.ts';
import { commit, ROOT } from './lib/checkout.ts';
import { openFanout } from './lib/fanout.ts';
import { judge, type Recorded, TOLERANCE, type Watched } from './lib/guard.ts';
import { openIdleParley } from './lib/idle-servers.ts';
import { type Comparison, compareBy, comparePairs } from './lib/pairs.ts';
import { checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { machine, RESULTS } from './lib/result-file.ts';
import { SendStand } from './lib/send-stand.ts';
import { spreadOf } from './lib/spread.ts';
import type { Session } from './lib/work.ts';
import { measureMemory } from './p7-idle-memory.ts';
import { measureResumes } from './p10-resume.ts';

const PATH = join(RESULTS, 'guard.json');

/** Prints a line for each figure as soon as it is known. Rejects where a part has no figure. */
export async function runGuard(
  args: readonly string[],
  onDisposer: (disposer: Disposer) => void,
): Promise<void> {
  const recorded = readRecorded();
  const watched: Watched[] = [];
  let warnings = 0;
  for (const measure of [sends, resumes, fanout, memory, latencies]) {
    const disposer = new Disposer();
    onDisposer(disposer);
    try {
      const found = await measure(sessionOf(disposer));
      watched.push(...found);
      for (const { line, warns } of judge(found, recorded, machine())) {
        process.stdout.write(`guard: ${line}\n`);
        if (warns) warnings += 1;
      }
    } finally {
      await disposer.close();
    }
  }
  if (args.includes('record')) record(watched);
  else if (warnings > 0) {
    const worse = `${warnings} of ${watched.length} figures are worse than recorded by more than ${TOLERANCE * 100} %, or beyond their bound`;
    process.stdout.write(`guard: ${worse}\n`);
  }
}

function record(watched: readonly Watched[]): void {
  const recorded: Recorded = {
    commit: commit(),
    recorded_at: new Date().toISOString(),
    machine: machine(),
    figures: Object.fromEntries(
      watched.filter(({ atMost }) => atMost === undefined).map(({ name, value }) => [name, value]),
    ),
  };
  writeFileSync(PATH, `${JSON.stringify(recorded, null, 2)}\n`);
  process.stdout.write(`guard: recorded in ${relative(ROOT, PATH)}\n`);
}

function readRecorded(): Recorded | undefined {
  try {
    return JSON.parse(readFileSync(PATH, 'utf8'));
  } catch {
    return undefined;
  }
}

function sessionOf(disposer: Disposer): Session {
  return {
    scale: 'short',
    timing: TIMING,
    disposer,
    say: () => undefined,
    part: (_, measure) => measure(),
  };
}

const TIMING = { pairs: 3, blockMs: 1_000, warmupMs: 1_000 };
const SOCKETS = 2_000;

/** Measures P2: processor time a send. */
async function sends(session: Session): Promise<Watched[]> {
  const { parley } = await startPostgres(session.disposer, ['parley']);
  const stand = await SendStand.open(session, parley, { env: TRAFFIC_ENV });
  const side = stand.side(64, 'direct');
  await side.run(TIMING.warmupMs);
  const times: { node: number[]; postgres: number[] } = { node: [], postgres: [] };
  for (let block = 0; block < TIMING.pairs; block++) {
    await drainOutbox(parley);
    await checkpoint(parley);
    const { processor } = await side.run(TIMING.blockMs);
    times.node.push(processor?.node ?? Number.NaN);
    times.postgres.push(processor?.postgres ?? Number.NaN);
  }
  const watched = { unit: 'µs', worse: 'more', ofMachine: true } as const;
  const measureAllocations = await openTraffic(session, stand);
  const allocated = await measureAllocations();
  return [
    { ...watched, name: 'P2 node, a send at 64 connections', value: spreadOf(times.node).median },
    { ...watched, name: 'P2 Postgres, a send at 64 connections', value: spreadOf(times.postgres).median },
    ...TRAFFIC.map((name) => allocatedBy(name, allocated[name])),
  ];
}

/** Returns the bytes of V8's heap that an operation allocates. */
function allocatedBy(operation: string, { heap }: Bytes): Watched {
  const name = `bytes allocated, a ${operation}`;
  return { name, unit: 'B', value: heap, worse: 'more', ofMachine: false };
}

/** Measures P4: processor time of a delivery through the whole path, against raw uWebSockets.js. */
async function fanout(session: Session): Promise<Watched[]> {
  const opened = await openFanout(session);
  const ours = await opened.whole(WINDOW);
  const control = (await opened.control('uws')).byCredit({ burst: 1, window: WINDOW });
  const comparison = await comparePairs({ ours, control, ...TIMING });
  return [timesRaw('P4 node, a delivery', comparison)];
}

const WINDOW = 8;

/** Measures P7: memory of an idle socket. */
async function memory(session: Session): Promise<Watched[]> {
  const blocks = await measureMemory(session, await openIdleParley(session, SOCKETS), SOCKETS, 2);
  const value = spreadOf(blocks.map(({ figure }) => figure)).median;
  return [{ name: 'P7 idle socket', unit: 'B', value, worse: 'more', ofMachine: false }];
}

/** Measures P10: processor time of a resume, and how many a statement serves. */
async function resumes(session: Session): Promise<Watched[]> {
  const { comparisons = {} } = await measureResumes(session, SOCKETS, 2);
  const [comparison] = Object.values(comparisons);
  if (comparison === undefined) throw new Error('there were no resumes');
  const bytes = comparison.ours.blocks.map(resumedBytes);
  const served = comparison.ours.blocks.map(({ notes }) => notes?.resumes_a_statement ?? 0);
  return [
    {
      name: 'P10 node, a resume',
      unit: 'µs',
      value: comparison.ours.processor.node ?? Number.NaN,
      worse: 'more',
      ofMachine: true,
    },
    {
      name: 'P10 resumes a statement',
      unit: 'resumes',
      value: spreadOf(served).median,
      worse: 'less',
      ofMachine: false,
    },
    allocatedBy('resume', { ...bytes[0]!, heap: spreadOf(bytes.map(({ heap }) => heap)).median }),
  ];
}

/** Measures the p99 of the five endpoints and of the upgrade, in times of a bare route's. */
async function latencies(session: Session): Promise<Watched[]> {
  const watched: Watched[] = [];
  for (const { work: name, ours, control, atMost } of await openLatencies(session)) {
    const { ratio } = await comparePairs({ ours, control, ...TIMING, warmupMs: 500 });
    const common = { unit: '× bare uWS', worse: 'more', ofMachine: false } as const;
    watched.push({ ...common, name, value: ratio.median, atMost });
  }
  return watched;
}

/**
 * Returns the servers' processor time in times of the control's, which depends on the machine much
 * less.
 */
function timesRaw(name: string, comparison: Comparison): Watched {
  const { ratio } = compareBy(comparison, ({ processor }) => processor?.node ?? Number.NaN);
  return { name, unit: '× raw uWS', value: ratio.median, worse: 'more', ofMachine: false };
}
