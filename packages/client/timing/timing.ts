/** Time and randomness, which tests replace. In milliseconds. */
export interface Timing {
  /** Calls `work` once; the returned function cancels it. */
  after(ms: number, work: () => void): () => void;
  /** Returns at least 0, below 1. */
  random(): number;
}

export const SYSTEM_TIMING: Timing = {
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
};
