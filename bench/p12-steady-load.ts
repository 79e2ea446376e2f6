import { startPostgres } from './lib/postgres.ts';
import { CONNECTIONS, SendStand } from './lib/send-stand.ts';
import { count, type Findings, type Session, type Work } from './lib/work.ts';
import type { LoopDelay } from './servers/loop-delay.ts';

/** How late the server's event loop is while it is sent to, for ten minutes, at 60 % of what it took at most. */
export const P12: Work = { name: 'p12', title: 'event loop under steady load', fullOnly: true, run };

async function run(session: Session): Promise<Findings> {
  const { full, say } = session;
  const durationMs = full ? FULL_MS : SHORT_MS;
  const { parley } = await startPostgres(session.disposer, ['parley']);
  const stand = await SendStand.open(session, parley, {
    nodeFlags: ['--import=./bench/servers/loop-delay.ts'],
  });
  const saturation = stand.side(CONNECTIONS, 'direct');
  await saturation.run(SATURATION_MS);
  const { figure: most } = await saturation.run(SATURATION_MS);
  const rate = Math.round(most * SHARE);
  say(`  ${Math.round(most)}/s at most, so ${rate}/s for ${durationMs / 1_000} s`);
  await loopDelay(stand);
  const { latencyUs, latenessUs, cpuUsPerSend } = await stand.sendAtRate(rate, durationMs, SEED);
  const delay = await loopDelay(stand);
  return {
    rows: [
      {
        work: 'P12 event loop late at 60 % load, p99.9',
        ours: `${count(delay.p999)} ms`,
        control: '',
        ratio: null,
        goal: { text: `≤ ${MAX_MS} ms`, met: delay.p999 <= MAX_MS },
      },
    ],
    comparisons: {},
    facts: {
      'sends a second, closed loop': Math.round(most),
      'sends a second, here': rate,
      'seconds of load': durationMs / 1_000,
      'loop late, p50, ms': delay.p50,
      'loop late, p99, ms': delay.p99,
      'loop late, p99.9, ms': delay.p999,
      'loop late, max, ms': delay.max,
      'loop looked at, times': delay.samples,
      'sends, p50, ms': latencyUs.p50 / 1_000,
      'sends, p99, ms': latencyUs.p99 / 1_000,
      'sends, p99.9, ms': latencyUs.p999 / 1_000,
      'generator late, p99, ms': latenessUs.p99 / 1_000,
      'server, µs of processor time a send': cpuUsPerSend,
    },
  };
}

const FULL_MS = 600_000;
const SHORT_MS = 30_000;
const SATURATION_MS = 6_000;
const SHARE = 0.6;
const MAX_MS = 10;
const SEED = 12;

/** Since it was asked last. */
function loopDelay({ product }: SendStand): Promise<LoopDelay> {
  product.process.tell({ loopDelay: true });
  return product.process.message<LoopDelay>();
}
