import { openFanout } from './lib/fanout.ts';
import { type Block, type Comparison, comparePairs, type Side } from './lib/pairs.ts';
import { comparisonRow, type Findings, type Row, type Session, schedule, type Work } from './lib/work.ts';

/**
 * One message to a thousand sockets through the whole path (REST send → commit → publish → sockets), against
 * servers that fan the same bytes out from a loop in their own process, one message a turn, as fast as the
 * subscribers take them: nothing is sent to them, and they keep nothing. And our publish() in such a loop.
 */
export const P4: Work = { name: 'p4', title: 'fan-out', run };

async function run(session: Session): Promise<Findings> {
  const { full } = session;
  const fanout = await openFanout(session);
  const whole = await fanout.whole(WINDOW);
  const alone = await fanout.alone({ burst: 1, window: WINDOW });
  const uws = await fanout.control('uws');
  const ws = await fanout.control('ws');
  const socketIo = await fanout.control('socket-io');

  const rows: Row[] = [];
  const comparisons: Record<string, Comparison> = {};
  const near = schedule(full, { pairs: 2, blockMs: 1_000 });
  // A short run suffices for controls that are far slower.
  const far = schedule(full, { pairs: 1, blockMs: 1_000 });
  const compare = async (work: string, ours: Side, control: Side, atLeast?: number, timing = near) => {
    session.say(work);
    const onBlock = (side: string, { figure }: Block) => session.say(`  ${side}: ${Math.round(figure)}/s`);
    const comparison = await comparePairs({ ours, control, onBlock, ...timing });
    comparisons[work] = comparison;
    rows.push(comparisonRow(work, { comparison, unit: '/s', atLeast }));
  };
  const one = { burst: 1, window: WINDOW };
  await compare('P4 whole path, 1,000 sockets', whole, uws.byCredit(one), 0.9);
  await compare('P4 publish alone, one a tick', alone, uws.byCredit(one), 0.9);
  await compare('P4 whole path, against ws', whole, ws.byCredit(one), 1.5, far);
  await compare('P4 whole path, against Socket.IO', whole, socketIo.byCredit(one), 2, far);
  if (full) await compare('P4 whole path, control by POST too', whole, uws.byPost(WINDOW));
  return { rows, comparisons, facts: { ...fanout.facts, 'messages under way': WINDOW } };
}

/** Messages under way. Of those sent by REST, the next ones are committed while one is fanned out. */
const WINDOW = 8;
