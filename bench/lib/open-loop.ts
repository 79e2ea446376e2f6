import { LatencyHistogram, type Percentiles } from './latency-histogram.ts';

export interface OpenLoopOptions {
  readonly ratePerSecond: number;
  readonly durationMs: number;
  /**
   * Milliseconds from one request to the next, `1_000 / ratePerSecond` in the mean, which is the
   * default.
   */
  readonly gapMs?: () => number;
  /**
   * Sends number `index` now. Calls `done` once, with whether the answer was good. Must not wait
   * for other sends.
   */
  readonly send: (index: number, done: (ok: boolean) => void) => void;
  /** Milliseconds to wait for answers after the last request. Default 10,000. */
  readonly patienceMs?: number;
}

export interface OpenLoopReport {
  readonly sent: number;
  /** Sends with a bad answer, or none within the patience. Their latency counts all the same. */
  readonly failed: number;
  /** Microseconds from the moment that the schedule names to the answer. */
  readonly latencyUs: Percentiles;
  /** Microseconds by which the generator itself was late, which the server did not cause. */
  readonly latenessUs: Percentiles;
}

/**
 * Sends requests at fixed times, whatever the state of earlier ones. Latency counts from the
 * intended time, so that a server that stops is charged for every request that would have arrived
 * meanwhile (no coordinated omission).
 */
export async function openLoop(options: OpenLoopOptions): Promise<OpenLoopReport> {
  const { ratePerSecond, durationMs, send, patienceMs = 10_000 } = options;
  const { gapMs = () => 1_000 / ratePerSecond } = options;
  const latency = new LatencyHistogram();
  const lateness = new LatencyHistogram();
  const total = Math.round((ratePerSecond * durationMs) / 1_000);
  const open = new Map<number, number>();
  let failed = 0;

  const issue = (index: number, intendedMs: number) => {
    open.set(index, intendedMs);
    send(index, (ok) => {
      if (!open.delete(index)) return;
      latency.recordUs((performance.now() - intendedMs) * 1_000);
      if (!ok) failed += 1;
    });
  };

  await new Promise<void>((resolve) => {
    let next = 0;
    let intendedMs = performance.now() + 1;
    const step = () => {
      const nowMs = performance.now();
      while (next < total && intendedMs <= nowMs) {
        lateness.recordUs((nowMs - intendedMs) * 1_000);
        issue(next, intendedMs);
        next += 1;
        intendedMs += gapMs();
      }
      if (next === total) return resolve();
      nap(intendedMs - performance.now());
      setImmediate(step);
    };
    step();
  });

  const deadlineMs = performance.now() + patienceMs;
  while (open.size > 0 && performance.now() < deadlineMs)
    await new Promise((resolve) => setTimeout(resolve, 1));
  for (const intendedMs of open.values()) {
    latency.recordUs((performance.now() - intendedMs) * 1_000);
    failed += 1;
  }
  open.clear();
  return { sent: total, failed, latencyUs: latency.percentiles(), latenessUs: lateness.percentiles() };
}

/**
 * Short, because answers are not read meanwhile; not shorter, because each nap is a turn of the
 * loop.
 */
const NAP_MS = 0.1;
const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/**
 * Sleeps a tenth of a millisecond at most. Timers come in whole milliseconds, and spinning would
 * take half of a two-core machine from the server.
 */
function nap(untilDueMs: number): void {
  if (untilDueMs > 0.02) Atomics.wait(SLEEPER, 0, 0, Math.min(untilDueMs, NAP_MS));
}
