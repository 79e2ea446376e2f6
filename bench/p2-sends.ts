import { compareWith } from './lib/compare.ts';
import { BODY, CONVERSATIONS } from './lib/insert-script.ts';
import { Inserts, PGBENCH_FACT } from './lib/inserts.ts';
import { type Comparison, compareBy } from './lib/pairs.ts';
import { checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { type Condition, comparisonRow } from './lib/row.ts';
import { openFloor, openWritten } from './lib/send-controls.ts';
import { RECIPIENTS } from './lib/send-conversations.ts';
import { HISTORY, SendStand } from './lib/send-stand.ts';
import { type Findings, type Session, TIMINGS, type Work } from './lib/work.ts';

/**
 * Durable sends over REST, answered after the commit, with fan-out and notifications going on, on
 * the same Postgres in the same minute. The controls are pgbench inserting the same rows, a careful
 * implementation, and the floor of such a service.
 */
export const P2: Work = { name: 'p2', title: 'durable sends', run };

async function run(session: Session): Promise<void> {
  const { disposer, scale, say, timing } = session;
  const databases = await startPostgres(disposer, ['parley', 'unbatched']);
  const stand = await SendStand.open(session, databases.parley);
  const written = await openWritten(session, stand);
  const floor = await openFloor(session, stand);
  const before = async () => {
    await drainOutbox(databases.parley);
    await checkpoint(databases.parley);
  };
  const openInserts = async (kind: 'direct' | 'group') => {
    const recipients = RECIPIENTS[kind];
    const options = { recipients, trialMs: timing.warmupMs, say };
    return Inserts.open(databases.parley, await stand.sample(kind), options);
  };
  const common = { unit: '/s', before };
  const direct = await openInserts('direct');
  const facts = {
    conversations: CONVERSATIONS,
    'messages in each before': HISTORY,
    'body, characters': BODY.length,
    'caused by a send to a direct conversation': '1 message row, 1 notification row, 2 frames',
    'caused by a send to a group': `1 message row, ${RECIPIENTS.group} notification rows, 2 frames`,
    'caused by a send without recipients': '1 message row, 1 frame',
    'faster script of equal work': direct.faster,
    pgbench: PGBENCH_FACT,
  };

  for (const { connections, equal } of GOALS) {
    const work = `P2 sends, ${connections} connections`;
    const ours = stand.side(connections, 'direct');
    await session.part(work, async () => {
      const against = [
        { work: `${work}, raw, equal work`, control: direct.equal, atLeast: equal, besides: promptEffects },
        ...(scale !== 'short' ? [{ work: `${work}, raw, single row`, control: direct.single }] : []),
      ];
      const findings = await compareWith(session, { ...common, ours, against, facts });
      return withPostgresTime(
        findings,
        `${work}, raw, equal work`,
        `P2 Postgres' time a send, ${connections}`,
      );
    });
    await session.part(`${work}, servers`, () => {
      const against = [
        {
          work: `${work}, raw, what one would write`,
          control: written.load.side(connections),
          atLeast: TIMES_WRITTEN,
        },
        { work: `${work}, raw, the floor`, control: floor.load.side(connections), atLeast: OF_THE_FLOOR },
      ];
      return compareWith(session, { ...common, ours, against });
    });
    if (scale === 'short') continue;
    await session.part(`${work}, autocannon`, () => {
      const against = [
        { work: `${work}, autocannon`, control: direct.single },
        {
          work: `${work}, autocannon, what one would write`,
          control: written.load.side(connections, 'autocannon'),
        },
      ];
      return compareWith(session, {
        ...common,
        ours: stand.side(connections, 'direct', 'autocannon'),
        against,
      });
    });
  }
  await session.part('P2 groups', async () => {
    const inserts = await openInserts('group');
    const work = `P2 sends, 64, groups of ${RECIPIENTS.group}`;
    const ours = stand.side(64, 'group');
    const against = [{ work: `${work}, raw, equal work`, control: inserts.equal, besides: promptEffects }];
    return compareWith(session, { ...common, ours, against, timing: GROUPS[scale] });
  });
  await session.part('P2 batching', async () => {
    const options = { name: 'unbatched', entry: 'bench/servers/unbatched.ts' };
    const unbatched = await SendStand.open(session, databases.unbatched, options);
    const ours = stand.side(256, 'direct');
    const control = unbatched.side(256, 'direct');
    const against = [{ work: 'P2 batching, 256 connections, raw', control, atLeast: 3 }];
    const drained = async () => {
      await drainOutbox(databases.unbatched);
      await before();
    };
    return compareWith(session, { ...common, ours, against, before: drained });
  });
  if (scale === 'short') return;
  await session.part('P2 without recipients', () => {
    const against = [{ work: 'P2 sends, 256, no recipients, raw', control: direct.single }];
    return compareWith(session, { ...common, ours: stand.side(256, 'silent'), against });
  });
}

/** The least ratios to equal work. */
const GOALS = [
  { connections: 64, equal: 0.9 },
  { connections: 256, equal: 1.2 },
] as const;
const TIMES_WRITTEN = 5;
const OF_THE_FLOOR = 0.75;
/** Short blocks: each send leaves fifty rows, which must be written after the block. */
const GROUPS = {
  full: { pairs: 10, blockMs: 2_000, warmupMs: 1_000 },
  short: { pairs: 2, blockMs: 500, warmupMs: 500 },
  brief: TIMINGS.brief,
} as const;
const MOST_OF_POSTGRES = 0.6;

/**
 * Adds the row that compares Postgres's time for a send, in the blocks of an earlier comparison.
 */
function withPostgresTime(findings: Findings, of: string, work: string): Findings {
  const compared = findings.comparisons?.[of];
  if (compared === undefined) throw new Error(`there is no comparison ${of}`);
  const comparison = compareBy(compared, ({ processor }) => processor?.postgres ?? Number.NaN);
  const row = comparisonRow(work, comparison, 'µs', { atMost: MOST_OF_POSTGRES });
  return {
    ...findings,
    rows: [...findings.rows, { ...row, processor: { ours: {}, control: {} } }],
    comparisons: { ...findings.comparisons, [work]: comparison },
  };
}

/** Requires prompt effects: a send may not put off its notifications to look fast. */
function promptEffects({ ours }: Comparison): Condition[] {
  const lag = Math.max(...ours.blocks.map(({ notes }) => notes?.outbox_lag_at_end_s ?? 0));
  return [{ text: `lag ${lag.toFixed(2)} s < 1 s`, met: lag < 1 }];
}
