/** Final states of runs: a module of its own, because pages load nothing else of the statuses. */
export const ENDED_RUNS = ['completed', 'failed', 'cancelled'] as const;
