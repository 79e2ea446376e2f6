import { build, type Histogram } from 'hdr-histogram-js';

/** Microseconds, exact to three digits. */
export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Times from a microsecond to two minutes; values outside count as the nearest bound. */
export class LatencyHistogram {
  readonly #histogram: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_US,
    numberOfSignificantValueDigits: 3,
  });

  recordUs(us: number): void {
    this.#histogram.recordValue(Math.min(Math.max(Math.round(us), 0), HIGHEST_US));
  }

  percentiles(): Percentiles {
    const at = (percentile: number) => this.#histogram.getValueAtPercentile(percentile);
    return { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: this.#histogram.maxValue };
  }
}

const HIGHEST_US = 120_000_000;
