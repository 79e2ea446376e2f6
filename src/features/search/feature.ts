import { OPERATION_TEXTS } from '../../core/documents/operation-texts.ts';
import { HOLDINGS } from '../../core/features/all-holdings.ts';
import type { Feature } from '../../core/features/feature.ts';
import { SETTING } from '../../core/features/node-hooks.ts';
import { implement } from '../../platform/hooks.ts';
import { Indexer } from './indexer.ts';
import { searchMetrics } from './metrics.ts';
import { moveEntries } from './moved-author.ts';
import { searchCheck } from './search-check.ts';
import { searchRoutes } from './search-routes.ts';

/** Triggers delete the entries of messages and conversations with them, so it holds no table. */
export const search: Feature = {
  hooks: [
    implement(SETTING, 'feature_search_entries'),
    implement(HOLDINGS, { tables: {}, movePerson: moveEntries }),
    implement(OPERATION_TEXTS, new URL('operations.md', import.meta.url)),
  ],
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
