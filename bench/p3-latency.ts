import { compareWith } from './lib/compare.ts';
import type { Curves, Point } from './lib/curves.ts';
import { BODY, CONVERSATIONS } from './lib/insert-script.ts';
import { Inserts, PGBENCH_FACT } from './lib/inserts.ts';
import type { Percentiles } from './lib/latency-histogram.ts';
import type { Block, Side } from './lib/pairs.ts';
import { checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { count } from './lib/row.ts';
import { openWritten } from './lib/send-controls.ts';
import { CONNECTIONS, type SendLoad } from './lib/send-load.ts';
import { HISTORY, SendStand } from './lib/send-stand.ts';
import { spreadOf } from './lib/spread.ts';
import type { Findings, Session, Work } from './lib/work.ts';

/**
 * Latency of durable sends that do not wait for each other, at half of the rate that the slower of
 * both sides accepted a minute before. The controls are equal work by pgbench, and a careful
 * implementation.
 */
export const P3: Work = { name: 'p3', title: 'latency of sends', run };

async function run(session: Session): Promise<void> {
  const { disposer, scale, say, timing } = session;
  const { parley } = await startPostgres(disposer, ['parley']);
  const stand = await SendStand.open(session, parley);
  const written = await openWritten(session, stand);
  const before = async () => {
    await drainOutbox(parley);
    await checkpoint(parley);
  };
  const trialMs = timing.warmupMs;
  const inserts = await Inserts.open(parley, await stand.sample('direct'), { recipients: 1, trialMs, say });
  const sides = [stand.side(CONNECTIONS, 'direct'), inserts.equal, written.load.side(CONNECTIONS)];
  const most = await saturations(sides, session, before);
  const [ownMost, equalMost, writtenMost] = most as [number, number, number];
  const rate = Math.round(Math.min(ownMost, equalMost) / 2);
  const ownRate = Math.round(ownMost / 2);
  say(
    `  at most ${count(ownMost)}/s, equal work ${count(equalMost)}/s, what one would write ${count(writtenMost)}/s`,
  );

  const seeds = { last: 0 };
  const work = `P3 send p99 at ${rate}/s, half of the slower side's most`;
  await session.part('P3 at half of the slower side', () =>
    compareWith(session, {
      unit: 'ms',
      ours: sendsSide('parley', stand, rate, seeds),
      against: [{ work, control: equalSide(inserts, rate), atMost: MAX_RATIO }],
      before,
      facts: {
        'sends a second, closed loop': Math.round(ownMost),
        'equal work a second, closed loop': Math.round(equalMost),
        'what one would write a second, closed loop': Math.round(writtenMost),
        'sends a second, here': rate,
        connections: CONNECTIONS,
        conversations: CONVERSATIONS,
        'messages in each before': HISTORY,
        'body, characters': BODY.length,
        'faster script of equal work': inserts.faster,
        pgbench: `${PGBENCH_FACT}, --rate, --log`,
      },
    }),
  );
  await session.part('P3 against what one would write', () => {
    const { at, why } = rateOfWritten(rate, writtenMost);
    const control = sendsSide(written.load.target.name, written.load, at, seeds);
    const ours = sendsSide('parley', stand, at, seeds);
    const against = [{ work: `P3 send p99 at ${at}/s, ${why}`, control, atMost: OF_WRITTEN }];
    return compareWith(session, { unit: 'ms', ours, against, before });
  });
  if (scale === 'short') return;
  await session.part('P3 at half of its own', async () => {
    const side = sendsSide('parley', stand, ownRate, seeds);
    const blocks: Block[] = [];
    for (let block = 0; block < Math.ceil(timing.pairs / 2); block++) {
      await before();
      blocks.push(await side.run(timing.blockMs));
    }
    return aloneRow(`P3 send p99 at ${ownRate}/s, half of its own most`, blocks);
  });
  await session.part('P3 beside a storm', () => {
    const calm = Math.round(rate / 2);
    const against = [
      {
        work: `P3 send p99 at ${calm}/s beside a storm into groups`,
        control: equalSide(inserts, calm),
        atMost: MAX_STORMY_RATIO,
      },
    ];
    return compareWith(session, { unit: 'ms', ours: stormySide(stand, calm, seeds), against, before });
  });
  await session.part('P3 curve', async () => {
    const rates = SHARES.map((share) => Math.round(Math.min(ownMost, equalMost) * share));
    return { rows: [], curves: { latency: await latencyCurves(stand, inserts, rates, session, before) } };
  });
}

const MAX_RATIO = 1.2;
const OF_WRITTEN = 0.4;
/** The greatest ratio beside a storm. */
const MAX_STORMY_RATIO = 1.5;
/** Shares of the slower side's most at which the curve is measured. */
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/** Returns the rate of ours against equal work, or half of the control's most if that is less. */
function rateOfWritten(rate: number, most: number): { readonly at: number; readonly why: string } {
  const name = 'what one would write';
  if (rate < most) return { at: rate, why: name };
  return { at: Math.round(most / 2), why: `${name} at half of its most: ${rate}/s are beyond it` };
}

/** Returns each side's rate in a closed loop. */
async function saturations(
  sides: readonly Side[],
  { timing }: Session,
  before: () => Promise<void>,
): Promise<number[]> {
  const figures: number[] = [];
  for (const side of sides) {
    await before();
    await side.run(timing.warmupMs);
    await before();
    figures.push((await side.run(timing.blockMs)).figure);
  }
  return figures;
}

function sendsSide(
  name: string,
  load: Pick<SendLoad, 'sendAtRate'>,
  rate: number,
  seeds: { last: number },
): Side {
  return {
    name,
    run: async (durationMs) => {
      seeds.last += 1;
      const { latencyUs, latenessUs, processor } = await load.sendAtRate(rate, durationMs, seeds.last);
      return {
        figure: latencyUs.p99 / 1_000,
        processor,
        notes: { ...milliseconds('', latencyUs), ...milliseconds('generator_late_', latenessUs) },
      };
    },
  };
}

/** Returns the same sends, beside a closed loop of one connection to groups of fifty. */
function stormySide(stand: SendStand, rate: number, seeds: { last: number }): Side {
  const direct = sendsSide('parley', stand, rate, seeds);
  const storm = stand.side(1, 'group');
  return {
    name: 'parley',
    run: async (durationMs) => {
      const stormed = storm.run(durationMs);
      const { figure, notes } = await direct.run(durationMs);
      const { notes: ofStorm } = await stormed;
      return {
        figure,
        notes: { ...notes, group_sends_per_second: ofStorm?.answered_per_second ?? Number.NaN },
      };
    },
  };
}

function equalSide(inserts: Inserts, rate: number): Side {
  return {
    name: 'equal work',
    run: async (durationMs) => {
      const report = await inserts.atRate(rate, durationMs);
      return {
        figure: report.latencyUs.p99 / 1_000,
        processor: report.processor,
        notes: {
          per_second: report.transactionsPerSecond,
          ...milliseconds('', report.latencyUs),
          ...milliseconds('late_', report.lagUs),
        },
      };
    },
  };
}

function aloneRow(work: string, blocks: readonly Block[]): Findings {
  const p99 = spreadOf(blocks.map(({ figure }) => figure));
  const ours = `${count(p99.median)} ms (${count(p99.least)}–${count(p99.most)})`;
  const processor = { ours: blocks[0]?.processor ?? {}, control: {} };
  return { rows: [{ work, ours, control: '', ratio: null, processor, goal: null }] };
}

/** Measures the median and the p99 of both sides at each rate: two blocks of each, A B B A. */
async function latencyCurves(
  stand: SendStand,
  inserts: Inserts,
  rates: readonly number[],
  { timing, say }: Session,
  before: () => Promise<void>,
): Promise<Curves> {
  const lines = {
    'Parley, p99': [] as Point[],
    'Parley, median': [] as Point[],
    'equal work by pgbench, p99': [] as Point[],
    'equal work by pgbench, median': [] as Point[],
  };
  const seeds = { last: 1_000 };
  for (const rate of rates) {
    const found = { ours: [] as Block[], equal: [] as Block[] };
    const sides = { ours: sendsSide('parley', stand, rate, seeds), equal: equalSide(inserts, rate) };
    for (const which of ['ours', 'equal', 'equal', 'ours'] as const) {
      await before();
      found[which].push(await sides[which].run(timing.blockMs));
    }
    const at = (blocks: readonly Block[], name: string): Point => [
      rate,
      spreadOf(blocks.map(({ notes }) => notes?.[name] ?? Number.NaN)).median,
    ];
    lines['Parley, p99'].push(at(found.ours, 'p99_ms'));
    lines['Parley, median'].push(at(found.ours, 'p50_ms'));
    lines['equal work by pgbench, p99'].push(at(found.equal, 'p99_ms'));
    lines['equal work by pgbench, median'].push(at(found.equal, 'p50_ms'));
    say(`  ${rate}/s`);
  }
  return {
    title: 'Latency of durable sends by rate',
    x: { label: 'sends a second', scale: 'linear' },
    y: { label: 'milliseconds to the answer', scale: 'logarithmic' },
    lines: Object.entries(lines).map(([name, points]) => ({ name, points })),
  };
}

function milliseconds(prefix: string, { p50, p99, p999, max }: Percentiles): Record<string, number> {
  return {
    [`${prefix}p50_ms`]: p50 / 1_000,
    [`${prefix}p99_ms`]: p99 / 1_000,
    [`${prefix}p999_ms`]: p999 / 1_000,
    [`${prefix}max_ms`]: max / 1_000,
  };
}
