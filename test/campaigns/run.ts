import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Teardown } from '../support/teardown.ts';
import { agentKills } from './agent-kills.ts';
import { auditCampaign } from './audit.ts';
import { counts } from './counts.ts';
import { anyFaults, delivery } from './delivery.ts';
import { feeds } from './feeds.ts';
import { forgotten } from './forgotten.ts';
import { gracefulRestart } from './graceful-restart.ts';
import { holds } from './holds.ts';
import { hostileFrames } from './hostile-frames.ts';
import { hostileUrls } from './hostile-urls.ts';
import { idempotency } from './idempotency.ts';
import { mailIn } from './mail-in.ts';
import { mailOut } from './mail-out.ts';
import { mailParse } from './mail-parse.ts';
import { scheduleStorm } from './schedule-storm.ts';
import { anyFaults as anyFaultsOfSchedules, scheduled } from './scheduled.ts';
import { slowReaders } from './slow-readers.ts';
import { sockets } from './sockets.ts';
import { streams } from './streams.ts';
import { SHAPES, unread } from './unread.ts';
import { webhooks } from './webhooks.ts';

/**
 * `npm run campaign -- <name> [--seed N]`: what takes minutes, whole. Prints its figures and writes
 * them to .data/campaigns/<name>-<seed>.json; exits 1 when something did not hold.
 */
const CAMPAIGNS: Readonly<Record<string, (t: Teardown, seed: number) => Promise<Figures>>> = {
  'agent-kills': (t, seed) => agentKills(t, { seed, rounds: 50, runs: 3 }),
  audit: (t, seed) =>
    auditCampaign(t, { seed, tamperings: 1_000, callers: 8, changesPerCaller: 400, kills: 12 }),
  counts: (t, seed) => counts(t, { seed, histories: 10_000 }),
  delivery: (t, seed) => delivery(t, { seed, faults: anyFaults(seed, 40) }),
  feeds: (t, seed) => feeds(t, { seed, histories: 1_000 }),
  forgotten: (t, seed) => forgotten(t, { seed, rounds: 20 }),
  'graceful-restart': (t, seed) =>
    gracefulRestart(t, {
      seed,
      clients: 1_000,
      conversations: 50,
      messagesPerSecond: 50,
      drainMs: 10_000,
      evenly: true,
    }),
  holds: (t, seed) => holds(t, { seed, interleavings: 1_000 }),
  idempotency: (t, seed) => idempotency(t, { seed, keys: 1_000 }),
  'hostile-frames': (t, seed) => hostileFrames(t, { seed, frames: 100_000 }),
  'hostile-urls': (t, seed) => hostileUrls(t, { seed, changes: 5_000 }),
  'mail-in': (t, seed) => mailIn(t, { seed, mails: 2_000, customers: 200, width: 16, kills: 3 }),
  'mail-out': (t, seed) =>
    mailOut(t, {
      seed,
      mails: 2_000,
      cases: 200,
      width: 16,
      kills: 3,
      restarts: true,
      outages: 6,
      trouble: 1,
    }),
  'mail-parse': (_, seed) => mailParse({ seed, mails: 50_000 }),
  'schedule-storm': (t, seed) =>
    scheduleStorm(t, { seed, messages: 5_000, conversations: 50, spreadMs: 10_000 }),
  scheduled: (t, seed) => scheduled(t, { seed, faults: anyFaultsOfSchedules(seed, 24), messages: 200 }),
  'slow-readers': (t, seed) => slowReaders(t, { seed, readers: 1_000, stalled: 50, floodMessages: 400 }),
  sockets: (t, seed) =>
    sockets(t, { seed, sockets: 200, conversations: 50, messages: 20_000, seconds: 120, restarts: true }),
  streams: (t, seed) => streams(t, { seed, conversations: 8, questions: 12, readers: 6 }),
  unread: (t, seed) => unread(t, { seed, messages: 1_000, shapes: SHAPES, measuredMs: 10_000 }),
  webhooks: (t, seed) => webhooks(t, { seed, events: 100_000, conversations: 40, width: 24, kills: 8 }),
};

interface Figures {
  readonly problems: readonly string[];
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: 'string', default: '1' } },
  });
  const [name = ''] = positionals;
  const campaign = CAMPAIGNS[name];
  if (campaign === undefined) {
    process.stderr.write(`usage: npm run campaign -- <${Object.keys(CAMPAIGNS).join('|')}> [--seed N]\n`);
    process.exit(2);
  }
  const releases: (() => void | Promise<void>)[] = [];
  const seed = Number(values.seed);
  try {
    const figures = await campaign({ teardown: (release) => void releases.push(release) }, seed);
    const directory = join(import.meta.dirname, '../../.data/campaigns');
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `${name}-${seed}.json`), `${JSON.stringify(figures, null, 2)}\n`);
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
    if (figures.problems.length > 0) process.exitCode = 1;
  } finally {
    for (const release of releases.reverse()) await release();
  }
}

await main();
process.exit();
