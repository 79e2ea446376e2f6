import { AggregatorRegistry } from 'prom-client';
import type { MetricsOfProcess } from './messages.ts';

/**
 * The metrics of all nodes as those of one process: counters and histograms are summed, gauges too,
 * unless their definition says otherwise. The counts of ended nodes stay in the sums, because a
 * lower sum would look like a restart of everything.
 */
export class MergedMetrics {
  #ofEnded: Promise<MetricsOfProcess> = Promise.resolve([]);

  /** Keeps what a node had counted by its end. */
  end(metrics: MetricsOfProcess): void {
    const counted = metrics.filter(isCounted);
    // Merged one after another, because several nodes may end at once.
    this.#ofEnded = this.#ofEnded.then((before) =>
      AggregatorRegistry.aggregate([before, counted]).getMetricsAsJSON(),
    );
  }

  /** Returns the text of `/metrics`. A node that is about to end has no slot (null). */
  async text(
    nodes: readonly { readonly slot: number | null; readonly metrics: MetricsOfProcess }[],
  ): Promise<string> {
    const all = nodes.map(({ slot, metrics }) =>
      slot === null ? metrics.filter(isCounted) : metrics.map((metric) => labelled(metric, slot)),
    );
    return AggregatorRegistry.aggregate([await this.#ofEnded, ...all]).metrics();
  }
}

type Metric = MetricsOfProcess[number];

function isCounted({ type }: Metric): boolean {
  const name = String(type);
  return name === 'counter' || name === 'histogram';
}

/** The ways in which prom-client may join values of processes so that they mean something. */
const JOINED = new Set(['sum', 'max']);

/** Labels a gauge by its process if its values cannot be joined. */
function labelled(metric: Metric, slot: number): Metric {
  const { aggregator = 'sum', values } = metric as Metric & { readonly aggregator?: string };
  if (isCounted(metric) || JOINED.has(aggregator)) return metric;
  const shown = values.map((value) => ({ ...value, labels: { ...value.labels, process: String(slot) } }));
  return { ...metric, aggregator: 'sum', values: shown } as Metric;
}
