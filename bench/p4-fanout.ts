import { compareWith } from './lib/compare.ts';
import { openFanout } from './lib/fanout.ts';
import { count } from './lib/row.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * One message to a thousand sockets through the whole path (REST send → commit → publish →
 * sockets). The controls fan out the same bytes from a loop in their own process, one message a
 * turn, as fast as the subscribers take them; they receive no sends and keep no messages. Another
 * side is our publish() in such a loop.
 */
export const P4: Work = { name: 'p4', title: 'fan-out', run };

async function run(session: Session): Promise<void> {
  const fanout = await openFanout(session);
  const whole = await fanout.whole(WINDOW);
  const uws = await fanout.control('uws');
  const ws = await fanout.control('ws');
  const socketIo = await fanout.control('socket-io');
  const one = { burst: 1, window: WINDOW };
  const facts = { ...fanout.facts, 'messages under way': WINDOW };
  const sockets = count(fanout.facts.sockets);

  await session.part('P4 whole path', () => {
    const against = [
      { work: `P4 whole path, ${sockets} sockets`, control: uws.byCredit(one), atLeast: 1 },
      { work: 'P4 whole path, against ws', control: ws.byCredit(one), atLeast: 1.8 },
      { work: 'P4 whole path, against Socket.IO', control: socketIo.byCredit(one), atLeast: 4 },
    ];
    return compareWith(session, { unit: '/s', ours: whole, against, facts });
  });
  await session.part('P4 publish alone', async () => {
    const alone = await fanout.alone(one);
    const against = [{ work: 'P4 publish alone, one a tick', control: uws.byCredit(one), atLeast: 1 }];
    return compareWith(session, { unit: '/s', ours: alone, against });
  });
  if (session.scale === 'short') return;
  await session.part('P4 by POST', () => {
    const against = [{ work: 'P4 whole path, control by POST too', control: uws.byPost(WINDOW) }];
    return compareWith(session, { unit: '/s', ours: whole, against });
  });
}

/** Messages under way. While one sent by REST is fanned out, the next ones are committed. */
const WINDOW = 8;
