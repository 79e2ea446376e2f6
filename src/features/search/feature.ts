import type { Feature } from '../../core/features/feature.ts';
import { OF_CONVERSATION } from '../../core/resources/holdings.ts';
import { Indexer } from './indexer.ts';
import { searchMetrics } from './metrics.ts';
import { moveEntries } from './moved-author.ts';
import { searchCheck } from './search-check.ts';
import { searchRoutes } from './search-routes.ts';

/**
 * Removes no entries itself, because triggers delete them with their messages and conversations.
 */
export const search: Feature = {
  hooks: {
    setting: 'feature_search_entries',
    holdings: { tables: { search_entries: { moved: OF_CONVERSATION } }, movePerson: moveEntries },
    operationTexts: new URL('operations.md', import.meta.url),
  },
  open: ({ database, watch, store, directory, metrics: { registry }, log, disposer }) => ({
    join() {
      const metrics = searchMetrics({ registry });
      disposer.add('search index', new Indexer({ database, watch, metrics, log }), (it) => it.close());
      return {
        routes: { settings: searchRoutes({ database, files: store, directory }) },
        checks: [searchCheck(metrics)],
      };
    },
  }),
};
