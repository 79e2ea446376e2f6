import { type Metrics, metricsIn } from '../../platform/metrics.ts';

export type SearchMetrics = ReturnType<typeof searchMetrics>;

/** Adds the metrics of this feature to the registry of a node, once. */
export function searchMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, gauge, histogram } = metricsIn(registry);
  return {
    searchIndexed: counter(
      'parley_search_indexed_messages_total',
      'Messages and conversations that this node read to index them for search',
    ),
    searchLagSeconds: gauge(
      'parley_search_lag_seconds',
      'Age of the oldest change that is not in the index of the search; 0 if every change is',
    ),
    searchRoundSeconds: histogram(
      'parley_search_round_duration_seconds',
      'Time of one round of indexing for search, with its rests',
    ),
  };
}
