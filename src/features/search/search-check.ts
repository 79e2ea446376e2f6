import { attention, type Check, duration, ok } from '../../core/installation/check.ts';
import { readMetric } from '../../platform/metrics.ts';
import type { SearchMetrics } from './metrics.ts';

/** Seconds, as in the alerts of docs/operations.md. */
const LATE_S = 60;

/** Returns the check that search finds recent messages. */
export function searchCheck(metrics: Pick<SearchMetrics, 'searchLagSeconds'>): Check {
  return {
    name: 'search',
    section: 'when-search-is-late',
    async look() {
      const lagS = await readMetric(metrics.searchLagSeconds);
      return lagS > LATE_S
        ? attention(`Search finds messages ${duration(lagS)} late. The log says whether the indexer fails.`)
        : ok('Search finds what was sent.');
    },
  };
}
