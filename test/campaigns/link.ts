import { runHistories } from '@parley/client/test/link/link-histories.ts';
import { LinkWatch } from '@parley/client/test/link/link-watch.ts';
import type { Teardown } from '../support/teardown.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface LinkOptions extends Seeded {
  readonly histories: number;
}

interface LinkFigures extends Found {
  readonly histories: number;
  readonly historiesPerSecond: number;
  /** Events that links noticed. */
  readonly events: number;
}

/**
 * Histories of one client of the SDK each, in a model of network and servers with a virtual clock:
 * cut and silent connections, refused tokens and URLs, sleeping machines, slow openings, nodes that
 * stop, and a client that is closed at any moment. Every message arrives once and in order, there
 * are never more connections than a move needs, no wait is longer than its bound, and nothing
 * happens after close(). Every cell of the link's table is reached, except those said to be
 * unreachable.
 */
export const link = campaign({ whole: () => ({ histories: 150_000 }), run });

async function run(t: Teardown, { seed, histories }: LinkOptions): Promise<LinkFigures> {
  const startedAt = performance.now();
  const first = seed * 10_000_000;
  const { problems, events, reached, unreached } = await runHistories(new LinkWatch(t), {
    first,
    count: histories,
  });
  problems.push(
    ...reached.map((cell) => `reached: ${cell}`),
    ...unreached.map((cell) => `not reached: ${cell}`),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  return { histories, historiesPerSecond: Math.round(histories / seconds), events, problems };
}
