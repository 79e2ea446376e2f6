/**
 * Loaded into a server (`--import`): on the runner's request, reports the delay of its event loop
 * since the last request.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { onQuestion } from './questions.ts';

/** Milliseconds. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** The number of samples. */
  readonly samples: number;
}

const RESOLUTION_MS = 1;
const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

onQuestion('loopDelay', () => {
  // A sample is the time from one timer to the next; the timer's own resolution is no delay.
  const late = (ns: number) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  const at = (percentile: number) => late(histogram.percentile(percentile));
  const delay: LoopDelay = {
    p50: at(50),
    p99: at(99),
    p999: at(99.9),
    max: late(histogram.max),
    samples: histogram.count,
  };
  histogram.reset();
  histogram.enable();
  process.send?.(delay);
});
