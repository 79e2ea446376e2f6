import { build, type Histogram } from 'hdr-histogram-js';

export interface OpenLoopOptions {
  readonly ratePerSecond: number;
  readonly durationMs: number;
  /** Sends number `index` now; calls `done` once, with whether it was answered well. Must not wait for others. */
  readonly send: (index: number, done: (ok: boolean) => void) => void;
  /** How long to wait for answers behind the last request. Default 10,000. */
  readonly patienceMs?: number;
}

export interface OpenLoopReport {
  readonly sent: number;
  /** Answered badly, or not within the patience. Their latency counts all the same. */
  readonly failed: number;
  /** Microseconds from the moment that the schedule names to the answer. */
  readonly latencyUs: Percentiles;
  /** Microseconds by which the generator itself was late: the part of the above that is not the server's. */
  readonly latenessUs: Percentiles;
}

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/**
 * Requests at fixed times, whatever became of those before. Latency counts from the intended time, so that a
 * server that stops is charged with everybody who would have come meanwhile (no coordinated omission).
 */
export async function openLoop(options: OpenLoopOptions): Promise<OpenLoopReport> {
  const { ratePerSecond, durationMs, send, patienceMs = 10_000 } = options;
  const latency = histogram();
  const lateness = histogram();
  const total = Math.round((ratePerSecond * durationMs) / 1_000);
  const intervalMs = 1_000 / ratePerSecond;
  const open = new Map<number, number>();
  let failed = 0;
  const startMs = performance.now() + 1;

  const issue = (index: number, intendedMs: number) => {
    open.set(index, intendedMs);
    send(index, (ok) => {
      if (!open.delete(index)) return;
      record(latency, performance.now() - intendedMs);
      if (!ok) failed += 1;
    });
  };

  await new Promise<void>((resolve) => {
    let next = 0;
    const step = () => {
      const nowMs = performance.now();
      while (next < total && startMs + next * intervalMs <= nowMs) {
        const intendedMs = startMs + next * intervalMs;
        record(lateness, nowMs - intendedMs);
        issue(next, intendedMs);
        next += 1;
      }
      if (next === total) return resolve();
      nap(startMs + next * intervalMs - performance.now());
      setImmediate(step);
    };
    step();
  });

  const deadlineMs = performance.now() + patienceMs;
  while (open.size > 0 && performance.now() < deadlineMs)
    await new Promise((resolve) => setTimeout(resolve, 1));
  for (const intendedMs of open.values()) {
    record(latency, performance.now() - intendedMs);
    failed += 1;
  }
  open.clear();
  return { sent: total, failed, latencyUs: percentiles(latency), latenessUs: percentiles(lateness) };
}

/** Short, because answers are not read meanwhile; not shorter, because each one is a turn of the loop. */
const NAP_MS = 0.1;
const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/**
 * Timers come in whole milliseconds, and spinning would take half of a two-core machine from the server: so
 * the thread itself sleeps, a tenth of a millisecond at most.
 */
function nap(untilDueMs: number): void {
  if (untilDueMs > 0.02) Atomics.wait(SLEEPER, 0, 0, Math.min(untilDueMs, NAP_MS));
}

const HIGHEST_US = 120_000_000;

function histogram(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_US,
    numberOfSignificantValueDigits: 3,
  });
}

function record(histogram: Histogram, ms: number): void {
  histogram.recordValue(Math.min(Math.max(Math.round(ms * 1_000), 0), HIGHEST_US));
}

function percentiles(histogram: Histogram): Percentiles {
  const at = (percentile: number) => histogram.getValueAtPercentile(percentile);
  return { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: histogram.maxValue };
}
