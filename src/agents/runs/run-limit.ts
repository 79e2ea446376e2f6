import type { RunRow } from '../rows.ts';

/** Runs that a node has at once; the rest wait, and other nodes take them. */
export const MAX_RUNS = 1_000;

/** Of its places, those that no account gets that has as many already. */
const KEPT = 1 / 4;

/**
 * Whether a node on which these run takes up another run of the account. One account may fill three quarters of the
 * places: however many runs it starts, those of others are taken up at once.
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
