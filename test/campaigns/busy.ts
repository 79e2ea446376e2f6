import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ROOT, startParley } from '../start/parley.ts';
import type { Teardown } from '../support/teardown.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

export interface BusyFile {
  /** The path from the root, without its ending. */
  readonly path: string;
  /**
   * Names of the tests that failed; a subtest has the names from the outermost test on. Without
   * any, the whole file runs as often as a test does.
   */
  readonly failed: readonly (string | readonly string[])[];
}

/**
 * The files that failed on a busy machine without a fault in what they test. A file that does so
 * again gets a line here in the change that mends it.
 */
export const BUSY_FILES: readonly BusyFile[] = [
  { path: 'test/gateway/polls', failed: ['a node that stops answers its polls'] },
  {
    path: 'test/gateway/backpressure',
    failed: [
      'a socket that stops reading gets the queued frames without a gap, then 4001; others get everything',
    ],
  },
  {
    path: 'test/gateway/resume',
    failed: ['missed changes reach the team, and a customer those that it may see'],
  },
  { path: 'test/gateway/streams', failed: ['replay runs into live without a gap or a double, under load'] },
  { path: 'test/gateway/tickets', failed: ['the endpoint: people, keys and customers, no agents'] },
  // Its last test is about the frames of all other tests.
  { path: 'test/gateway/audiences', failed: [] },
  {
    path: 'test/engine/redis-engine',
    failed: [
      'a Redis that hangs is noticed, and used again when it continues',
      ['an engine keeps subscriptions of channels', 'thousands of channels can be subscribed at once'],
      ['an engine hands out numbers', 'counters answer many claims in order'],
    ],
  },
  { path: 'test/engine/memory-engine', failed: ['an engine carries frames between nodes'] },
  {
    path: 'packages/client/test/reconnect',
    failed: ['a node that goes away where there is no other: it is not held up'],
  },
  {
    path: 'packages/client/test/conversation',
    failed: ['the caller, people, members, search and what is unread'],
  },
  {
    path: 'test/platform-events/contract',
    failed: ['a repetition is the same event, and has no effect again'],
  },
  { path: 'test/accounts/moves-contract', failed: ['until changes are refused, a move changes nothing'] },
  {
    path: 'test/messages/scheduled-contract',
    failed: [
      'from the schedule to the sockets: every field and no other',
      'canceled before its time, or edited',
      'sent now, canceled, put off and due at the same moment: one of them wins',
      'on a case: team and customer',
    ],
  },
  {
    path: 'test/db/redis-list',
    failed: ['all nodes change over together, and none that lacks one is left behind'],
  },
  { path: 'test/db/pipelined-connection', failed: ['gathering 1', 'gathering 8'] },
  {
    path: 'packages/embedded-postgres/test/embedded-postgres',
    failed: ['leftovers of all kinds do not stop a start'],
  },
  {
    path: 'test/webhooks/deliverer',
    failed: ['two nodes share what is pending, and take over from one that died'],
  },
  { path: 'test/jobs/job-worker', failed: ['Postgres unavailable: the worker continues when it is back'] },
  { path: 'test/notifications/push', failed: ['tries: what is repeated, and what is not'] },
  {
    path: 'test/compliance/job-nodes',
    failed: ['an erased person has no name on any node, in pages, live and after a resume'],
  },
  {
    path: 'test/start/stopping',
    failed: ['SIGTERM: not ready at once, and nothing else changes until a second signal'],
  },
  { path: 'test/agents/schedule', failed: ['nothing runs for an account without a subscription'] },
  {
    path: 'test/bench/open-loop',
    failed: ['a server that stops for a while is charged for every request that would have arrived'],
  },
  {
    path: 'test/long/two-nodes',
    failed: [
      'Redis away when they are due: each scheduled message is sent once, none early',
      '2,000 concurrent sends over two nodes reach every subscriber once, in order',
    ],
  },
  {
    path: 'test/long/mail-out',
    failed: ['a slice of the campaign: every mail arrives, under one Message-ID'],
  },
  {
    path: 'test/long/faults/lost-frames',
    failed: [
      'frames lost on one of many streams are repaired on that stream, and raise no other alarm',
      'subscriptions that come and go under load raise no alarm',
    ],
  },
  {
    path: 'test/long/features',
    failed: ['without all of them the rest compiles, and nothing that needs one does'],
  },
  { path: 'test/long/newcomer', failed: ['in a directory that its owner alone may enter'] },
  { path: 'test/long/console/timeline', failed: ['grouping, days, the unread line, and who has read'] },
];

interface BusyOptions extends Seeded {
  readonly files: readonly BusyFile[];
  /** Number of runs of each failed test, alone. */
  readonly testRuns: number;
  /** Number of runs of each whole file. */
  readonly fileRuns: number;
  /** Processes beside it that only take the processor. */
  readonly loops: number;
}

interface BusyFigures extends Found {
  readonly processors: number;
  readonly loops: number;
  readonly rows: readonly BusyRow[];
}

/** The times of a test, or of a whole file, over several runs. */
interface BusyRow {
  readonly file: string;
  /** Empty for the whole file. */
  readonly test: string;
  readonly runs: number;
  readonly failures: number;
  readonly medianSeconds: number;
  readonly longestSeconds: number;
}

const nameOf = ({ path }: BusyFile) =>
  path
    .replace(/^(test|packages)\//, '')
    .replace('/test/', '/')
    .replaceAll('/', '.');

/**
 * Runs the tests that failed on a busy machine, and their files, beside busy loops. With a name,
 * such as `gateway.polls`, it runs only that file.
 */
export const busy = campaign({
  words: ['', ...BUSY_FILES.map(nameOf)],
  whole: (_seed, word) => ({
    files: BUSY_FILES.filter((file) => word === '' || nameOf(file) === word),
    testRuns: 20,
    fileRuns: 3,
    loops: 4,
  }),
  run,
});

async function run(t: Teardown, options: BusyOptions): Promise<BusyFigures> {
  const { files, testRuns, fileRuns, loops } = options;
  const busy = startLoops(loops);
  const problems: string[] = [];
  const rows: BusyRow[] = [];
  try {
    for (const { path, failed } of files) {
      const ways = [...failed.map((way) => [way].flat()), []];
      for (const way of ways) {
        const runs = way.length > 0 || failed.length === 0 ? testRuns : fileRuns;
        const row = await repeat(t, { path, way, runs, problems });
        rows.push(row);
        process.stdout.write(lineOf(row));
      }
    }
    const ended = busy.filter(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
    if (ended.length > 0) problems.push(`${ended.length} of the busy loops ended before the tests did`);
  } finally {
    for (const loop of busy) loop.kill('SIGKILL');
  }
  return { processors: availableParallelism(), loops, rows, problems };
}

/** Starts loops that end with this process, even if it is killed: their parent then changes. */
function startLoops(count: number) {
  const script = `while (process.ppid === ${process.pid});`;
  return Array.from({ length: count }, () => spawn(process.execPath, ['-e', script], { stdio: 'ignore' }));
}

interface Repeated {
  readonly path: string;
  /** Names of the test and of its outer tests; empty for the whole file. */
  readonly way: readonly string[];
  readonly runs: number;
  readonly problems: string[];
}

async function repeat(t: Teardown, { path, way, runs, problems }: Repeated): Promise<BusyRow> {
  const seconds: number[] = [];
  const test = way.join(' > ');
  let failures = 0;
  for (let n = 1; n <= runs; n++) {
    const startedAt = performance.now();
    const problem = await runFile(t, path, way);
    seconds.push((performance.now() - startedAt) / 1_000);
    if (problem === undefined) continue;
    failures += 1;
    problems.push(`${path} ${test} (run ${n} of ${runs}): ${problem}`);
  }
  seconds.sort((a, b) => a - b);
  const rounded = (value = 0) => Math.round(value * 10) / 10;
  const [medianSeconds, longestSeconds] = [seconds[runs >> 1], seconds.at(-1)].map(rounded) as [
    number,
    number,
  ];
  return { file: path, test, runs, failures, medianSeconds, longestSeconds };
}

/** Runs a file, or one of its tests, in a separate process. Returns what failed. */
async function runFile(t: Teardown, path: string, way: readonly string[]): Promise<string | undefined> {
  const command = [
    process.execPath,
    '--enable-source-maps',
    `--import=${join(ROOT, 'test/support/quick-tap.js')}`,
    `${path}.test.ts`,
  ] as const;
  const TAP_GREP = way.map((name) => `/^${name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$/`).join('\n');
  const env = { TAP_TIMEOUT: '1800', ...(way.length > 0 && { TAP_GREP }) };
  const { ended } = startParley(t, env, { command });
  const { code, stdout, stderr } = await ended;
  if (code !== 0) {
    const failed = stdout.split('\n').filter((line) => /^\s*(not ok|Bail out)/.test(line));
    return [`exit ${code}`, ...failed.slice(0, 5), stderr.slice(-1_000)].join('\n');
  }
  const ran = stdout.split('\n').filter((line) => /^\s*ok \d+ - /.test(line) && !/ # SKIP/.test(line));
  // tap writes a name with escapes.
  const missing = way.filter((name) => !ran.some((line) => line.replaceAll('\\', '').includes(`- ${name}`)));
  return missing.length > 0 ? `no test was run that is called ${missing.join(', ')}` : undefined;
}

function lineOf({ file, test, runs, failures, medianSeconds, longestSeconds }: BusyRow): string {
  const times = `${medianSeconds.toFixed(1).padStart(6)} s median ${longestSeconds.toFixed(1).padStart(6)} s longest`;
  return `${String(runs).padStart(2)} runs ${String(failures).padStart(2)} failed ${times}  ${file} ${test}\n`;
}
