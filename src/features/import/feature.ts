import type { Feature } from '../../core/features/feature.ts';
import { importRoutes } from './import-routes.ts';
import { tidyImports } from './import-store.ts';
import { messageImportRoutes } from './message-import-routes.ts';

export const imports: Feature = {
  holdings: {
    tables: {
      imports: { account: 'content' },
      import_refs: { account: 'last' },
    },
  },
  open(node) {
    const { config, database, store, directory } = node;
    return {
      join({ importedWrites }) {
        return {
          routes: {
            messages: messageImportRoutes({ database, store, directory, importedWrites }),
            attachments: importRoutes({ database, store, maxBytes: config.importMaxBytes }),
          },
          tidy: () => tidyImports(database),
        };
      },
    };
  },
};
