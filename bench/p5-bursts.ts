import { openFanout } from './lib/fanout.ts';
import { type Block, type Comparison, comparePairs, type Side } from './lib/pairs.ts';
import { comparisonRow, type Findings, type Row, type Session, schedule, type Work } from './lib/work.ts';

/**
 * The fan-out of P4 with ten messages in one turn of the event loop, which uWebSockets.js puts into one write a
 * socket, against raw uWebSockets.js with one message a turn: whether our path lets it.
 */
export const P5: Work = { name: 'p5', title: 'fan-out in bursts', run };

async function run(session: Session): Promise<Findings> {
  const { full } = session;
  const fanout = await openFanout(session);
  const alone = await fanout.alone({ burst: BURST, window: WINDOW });
  const uws = await fanout.control('uws');
  const oneATick = uws.byCredit({ burst: 1, window: BURST * WINDOW });

  const rows: Row[] = [];
  const comparisons: Record<string, Comparison> = {};
  const timing = schedule(full, { pairs: 2, blockMs: 1_000 });
  const compare = async (work: string, ours: Side, atLeast?: number) => {
    session.say(work);
    const onBlock = (side: string, { figure }: Block) => session.say(`  ${side}: ${Math.round(figure)}/s`);
    const comparison = await comparePairs({ ours, control: oneATick, onBlock, ...timing });
    comparisons[work] = comparison;
    rows.push(comparisonRow(work, { comparison, unit: '/s', atLeast }));
  };
  await compare('P5 publish alone, 10 a tick', alone, 4);
  if (full) {
    await compare('P5 whole path, 80 under way', await fanout.whole(BURST * WINDOW));
    await compare('P5 raw uWS, 10 a tick', uws.byCredit({ burst: BURST, window: WINDOW }));
  }
  return {
    rows,
    comparisons,
    facts: { ...fanout.facts, 'messages a tick': BURST, 'messages under way': BURST * WINDOW },
  };
}

const BURST = 10;
/** Bursts under way. */
const WINDOW = 8;
