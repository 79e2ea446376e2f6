import type { Feature } from '../../core/features/feature.ts';
import { Indexer } from './indexer.ts';
import { searchRoutes } from './search-routes.ts';

/** Triggers delete the entries of messages and conversations with them, so it holds nothing. */
export const search: Feature = {
  setting: 'feature_search_entries',
  open: ({ database, watch, store, directory, metrics, log, disposer }) => ({
    join() {
      disposer.add('search index', new Indexer({ database, watch, metrics, log }), (it) => it.close());
      return { routes: { settings: searchRoutes({ database, files: store, directory }) } };
    },
  }),
};
