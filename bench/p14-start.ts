import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './lib/checkout.ts';
import { cleanEnvironment } from './lib/environment.ts';
import { type Comparison, comparePairs, type Side } from './lib/pairs.ts';
import { comparisonRow } from './lib/row.ts';
import { spreadOf } from './lib/spread.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * The time from `npm start`, on a checkout that has been started before, until the printed curl
 * line is answered with 201. The control is a bare Node process that starts the same embedded
 * Postgres and answers one request.
 */
export const P14: Work = { name: 'p14', title: 'start', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const work = 'P14 npm start until a send is answered';
  await session.part(work, async () => {
    const env = { ...cleanEnvironment(), PORT: '0' };
    const comparison = await comparePairs({
      ours: startSide(session, 'parley', (dataDir) => {
        return spawn('npm', ['start'], { ...OPTIONS, env: { ...env, PARLEY_DATA_DIR: dataDir } });
      }),
      control: startSide(session, 'bare Node and Postgres', (dataDir) => {
        return spawn(process.execPath, ['bench/controls/bare-start.ts', dataDir], { ...OPTIONS, env });
      }),
      onBlock: (side, { figure, notes }) => {
        session.say(`  ${side}: ${figure.toFixed(2)} s, the line after ${notes?.printed_s?.toFixed(2)} s`);
      },
      // A start is a block, however long; the first of each, thrown away, makes the database.
      pairs: STARTS[session.scale],
      blockMs: 0,
      warmupMs: 0,
    });
    const rows = [comparisonRow(work, comparison, 's', { besides: soonEnough })];
    return { rows, comparisons: { [work]: comparison } };
  });
}

const OPTIONS: SpawnOptions = { cwd: ROOT, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
const STARTS = { full: 10, short: 3, brief: 1 };
const MAX_ADDED_S = 1.2;
const MAX_S = 2;
const PATIENCE_MS = 60_000;

function soonEnough({ ours, control }: Comparison) {
  const added = spreadOf(
    ours.blocks.map(({ figure }, index) => figure - control.blocks[index]!.figure),
  ).median;
  return [
    { text: `+${added.toFixed(2)} ≤ +${MAX_ADDED_S} s`, met: added <= MAX_ADDED_S },
    { text: `≤ ${MAX_S} s`, met: ours.figure.median <= MAX_S },
  ];
}

/** Starts a program repeatedly on one data directory. */
function startSide({ disposer }: Session, name: string, start: (dataDir: string) => ChildProcess): Side {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-start-'));
  disposer.add('data directory', dataDir, (path) => rmSync(path, { recursive: true, force: true }));
  // Postgres needs access: for root, it runs as another user.
  chmodSync(dataDir, 0o755);
  let running: ChildProcess | undefined;
  disposer.add(name, undefined, () => stop(running));
  return {
    name,
    run: async () => {
      const startMs = performance.now();
      const child = start(dataDir);
      running = child;
      try {
        const line = await printedLine(child);
        const printedMs = performance.now();
        const { stdout } = await runFile('sh', ['-c', `${line} -o /dev/null -w '%{http_code}'`]);
        const endMs = performance.now();
        if (stdout !== '201') throw new Error(`the line was answered with ${stdout}`);
        return { figure: (endMs - startMs) / 1_000, notes: { printed_s: (printedMs - startMs) / 1_000 } };
      } finally {
        await stop(child);
      }
    },
  };
}

const runFile = promisify(execFile);

/** Resolves with the command to paste that the program prints. */
function printedLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const fail = () => reject(new Error(`no line to paste was printed: ${said}`));
    const timer = setTimeout(fail, PATIENCE_MS);
    const read = (text: string) => {
      said += text;
      const found = /^curl .*$(?=\n)/m.exec(said)?.[0];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout?.setEncoding('utf8').on('data', read);
    child.stderr?.setEncoding('utf8').on('data', read);
    child.once('close', fail);
    child.once('error', reject);
  });
}

/** Resolves when the program and its Postgres have ended. */
async function stop(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  await ended;
}
