import type { RunRow } from '../../../../core/resources/run.ts';

/** Maximum number of runs on a node; the rest wait, and other nodes take them. */
const MAX_RUNS = 1_000;

/** Share of the places that is reserved for accounts with fewer runs. */
const KEPT = 1 / 4;

/**
 * Returns whether a node with these active runs takes another run of the account. One account may
 * fill three quarters of the places, so that runs of other accounts start at once.
 */
export function hasRoomFor(
  accountId: string,
  running: ReadonlyMap<string, { readonly run: Pick<RunRow, 'account_id'> }>,
  most = MAX_RUNS,
): boolean {
  const kept = Math.ceil(most * KEPT);
  if (running.size < most - kept) return true;
  if (running.size >= most) return false;
  let own = 0;
  for (const { run } of running.values()) if (run.account_id === accountId) own += 1;
  return own < kept;
}
