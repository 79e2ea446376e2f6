import type { Counter, Histogram } from 'prom-client';

type Labels = Readonly<Record<string, string | number>>;

/**
 * One combination of a counter's labels, which prom-client takes 130 to 260 ns to find each time.
 * Found once, it costs an addition.
 */
export class CounterSeries {
  readonly #entry: CounterEntry;

  constructor(counter: Counter<string>, labels: Labels) {
    counter.inc(labels, 0);
    this.#entry = entryOf(counter as unknown as Entries<CounterEntry>, labels)!;
  }

  inc(): void {
    this.#entry.value += 1;
  }
}

/** The same for a histogram, where prom-client takes 400 ns. */
export class HistogramSeries {
  readonly #entry: HistogramEntry;
  readonly #bounds: readonly number[];

  constructor(histogram: Histogram<string>, labels: Labels) {
    const inside = histogram as unknown as Entries<HistogramEntry> & {
      readonly upperBounds: readonly number[];
    };
    if (entryOf(inside, labels) === undefined) histogram.zero(labels);
    this.#entry = entryOf(inside, labels)!;
    this.#bounds = inside.upperBounds;
  }

  /** `value` must be a number. */
  observe(value: number): void {
    const entry = this.#entry;
    entry.sum += value;
    entry.count += 1;
    for (const bound of this.#bounds) {
      if (value > bound) continue;
      entry.bucketValues[bound]! += 1;
      return;
    }
  }
}

/** The internals of prom-client's metrics with labels. */
interface Entries<Entry> {
  readonly hashMap: Readonly<Record<string, Entry>>;
}

interface CounterEntry {
  readonly labels: Labels;
  value: number;
}

interface HistogramEntry {
  readonly labels: Labels;
  /** By upper bound: how many values were above the bound before it. */
  readonly bucketValues: Record<number, number>;
  sum: number;
  count: number;
}

function entryOf<Entry extends { readonly labels: Labels }>(
  { hashMap }: Entries<Entry>,
  labels: Labels,
): Entry | undefined {
  const names = Object.keys(labels);
  return Object.values(hashMap).find((entry) => names.every((name) => entry.labels[name] === labels[name]));
}
