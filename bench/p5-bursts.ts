import { compareWith } from './lib/compare.ts';
import { openFanout } from './lib/fanout.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * The fan-out of P4 with ten messages in one turn of the event loop, against raw uWebSockets.js
 * with one message a turn. It shows whether our path lets uWebSockets.js write once a socket.
 */
export const P5: Work = { name: 'p5', title: 'fan-out in bursts', run };

async function run(session: Session): Promise<void> {
  const fanout = await openFanout(session);
  const alone = await fanout.alone({ burst: BURST, window: WINDOW });
  const uws = await fanout.control('uws');
  const oneATick = uws.byCredit({ burst: 1, window: BURST * WINDOW });
  const facts = { ...fanout.facts, 'messages a tick': BURST, 'messages under way': BURST * WINDOW };

  await session.part('P5 publish alone', () => {
    const against = [{ work: 'P5 publish alone, 10 a tick', control: oneATick, atLeast: 6 }];
    return compareWith(session, { unit: '/s', ours: alone, against, facts });
  });
  if (session.scale === 'short') return;
  await session.part('P5 whole path', async () => {
    const against = [{ work: 'P5 whole path, 80 under way', control: oneATick }];
    return compareWith(session, { unit: '/s', ours: await fanout.whole(BURST * WINDOW), against });
  });
  await session.part('P5 raw uWS', () => {
    const against = [{ work: 'P5 raw uWS, 10 a tick', control: oneATick }];
    return compareWith(session, {
      unit: '/s',
      ours: uws.byCredit({ burst: BURST, window: WINDOW }),
      against,
    });
  });
}

const BURST = 10;
/** Bursts under way. */
const WINDOW = 8;
