import { startRedis } from '../test/support/redis.ts';
import { comparePairs } from './lib/pairs.ts';
import { checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { comparisonRow } from './lib/row.ts';
import { SendStand } from './lib/send-stand.ts';
import type { Findings, Session, Work } from './lib/work.ts';

/**
 * Durable sends to two processes of one supervisor, against the same sends to one process, by the
 * cost of a send for all processes together.
 */
export const PROCESSES: Work = { name: 'processes', title: 'several processes on one port', run };

async function run(session: Session): Promise<void> {
  await session.part('several processes', () => measure(session));
}

const CONNECTIONS = 64;
/** The most, in times of a send's processor time in one process. */
const MOST_TIME = 1.1;

async function measure(session: Session): Promise<Findings> {
  const { disposer, timing } = session;
  const databases = await startPostgres(disposer, ['one', 'two']);
  const open = async (name: 'one' | 'two', processes: number) => {
    const redis = await startRedis({ teardown: (release) => void disposer.add('redis', undefined, release) });
    const env = { REDIS_URL: redis.url, PARLEY_PROCESSES: String(processes) };
    const stand = await SendStand.open(session, databases[name], { name, env });
    return stand.side(CONNECTIONS, 'direct');
  };
  const before = async () => {
    for (const database of Object.values(databases)) {
      await drainOutbox(database);
      await checkpoint(database);
    }
  };
  const comparison = await comparePairs({
    ours: await open('two', 2),
    control: await open('one', 1),
    before,
    ...timing,
  });
  const [two, one] = [comparison.ours.processor.node ?? 0, comparison.control.processor.node ?? 0];
  const time = { text: `node time ${(two / one).toFixed(2)} ≤ ${MOST_TIME} ×`, met: two <= MOST_TIME * one };
  const work = `two processes, ${CONNECTIONS} connections`;
  return {
    rows: [comparisonRow(work, comparison, '/s', { besides: () => [time] })],
    comparisons: { [work]: comparison },
    facts: { connections: CONNECTIONS },
  };
}
