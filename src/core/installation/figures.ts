import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import { FIGURES_KEPT_S, type NodeFigures } from '@parley/protocol/resources/installation.ts';
import type { ApiMetrics } from '../../api/metrics.ts';
import { type Measure, type Metrics, readMetric } from '../../platform/metrics.ts';
import type { CoreMetrics } from '../metrics.ts';

/** The metrics behind the figures; the code that opens sockets has theirs. */
interface Measured
  extends Pick<Metrics, 'outboxLagSeconds'>,
    Pick<ApiMetrics, 'httpSeconds'>,
    Pick<CoreMetrics, 'sends'> {
  readonly socketsOpen: Measure;
  readonly framesDelivered: Measure;
}

/** Milliseconds between the figures of a node. */
export const TAKEN_EVERY_MS = 2_000;

/** Number of figures that are kept of a node. */
export const FIGURES_KEPT = (FIGURES_KEPT_S * 1_000) / TAKEN_EVERY_MS;

/** Measures this node by the changes of its metrics since the previous figures. */
export class Figures {
  readonly #metrics: Measured;
  readonly #loop: IntervalHistogram = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS });
  #before: { readonly ms: number; readonly sends: number; readonly frames: number };
  /** The cumulative buckets at each of the last figures, oldest first. */
  readonly #answered: Buckets[] = [];

  constructor(metrics: Measured) {
    this.#metrics = metrics;
    this.#before = { ms: performance.now(), sends: 0, frames: 0 };
    this.#loop.enable();
  }

  async take(): Promise<NodeFigures> {
    const { socketsOpen, sends, framesDelivered, outboxLagSeconds } = this.#metrics;
    const now = {
      ms: performance.now(),
      sends: await readMetric(sends),
      frames: await readMetric(framesDelivered),
    };
    const seconds = (now.ms - this.#before.ms) / 1_000;
    const { sends: sendsBefore, frames: framesBefore } = this.#before;
    this.#before = now;
    const answered = await this.#answeredLately();
    return {
      at: wireTime(Date.now()),
      sockets: await readMetric(socketsOpen),
      sends_per_second: rounded((now.sends - sendsBefore) / seconds),
      deliveries_per_second: rounded((now.frames - framesBefore) / seconds),
      send_p50_ms: quantile(answered, 0.5),
      send_p99_ms: quantile(answered, 0.99),
      event_loop_p99_ms: this.#lateness(),
      outbox_lag_seconds: rounded(await readMetric(outboxLagSeconds)),
      memory_bytes: process.memoryUsage.rss(),
    };
  }

  close(): void {
    this.#loop.disable();
  }

  /** Returns the sends of the last seconds, by response time. */
  async #answeredLately(): Promise<Buckets> {
    const { values } = await this.#metrics.httpSeconds.get();
    const now: Buckets = new Map();
    for (const { metricName, labels, value } of values) {
      if (labels.method !== 'POST' || labels.route !== SEND_PATH || !metricName?.endsWith('_bucket'))
        continue;
      const le = (labels as { readonly le?: number | string }).le;
      now.set(Number(le === '+Inf' ? Number.POSITIVE_INFINITY : le), value);
    }
    this.#answered.push(now);
    const before = this.#answered.length > ANSWERED_OVER ? this.#answered.shift() : this.#answered[0];
    return new Map([...now].map(([le, count]) => [le, count - (before?.get(le) ?? 0)]));
  }

  /** Returns the lateness without the monitor's own interval. */
  #lateness(): number {
    const ms = this.#loop.count === 0 ? 0 : this.#loop.percentile(99) / 1e6 - LOOK_EVERY_MS;
    this.#loop.reset();
    return rounded(Math.max(0, ms));
  }
}

/**
 * Milliseconds between two samples of the event loop: a sample wakes an idle process, and a late
 * process is late for longer than that.
 */
const LOOK_EVERY_MS = 200;

/** Number of figures that response times cover. */
const ANSWERED_OVER = 5;

const SEND_PATH = '/v1/messaging/conversations/:id/messages';

/** Cumulative numbers of sends by their upper bound in seconds, in ascending order. */
type Buckets = Map<number, number>;

/**
 * Returns a latency quantile in ms, interpolated within its bucket and capped at the last bound.
 * Null without samples.
 */
function quantile(buckets: Buckets, part: number): number | null {
  const total = buckets.get(Number.POSITIVE_INFINITY) ?? 0;
  if (total === 0) return null;
  const wanted = total * part;
  let [lower, below] = [0, 0];
  for (const [le, count] of buckets) {
    if (!Number.isFinite(le)) break;
    if (count >= wanted)
      return rounded((lower + (le - lower) * ((wanted - below) / (count - below))) * 1_000);
    [lower, below] = [le, count];
  }
  return rounded(lower * 1_000);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
