import type { Feature } from '../../core/features/feature.ts';
import { JobRunner } from '../../platform/db/queue/leased-jobs.ts';
import { GuardedFetch } from '../../platform/outbound/guarded-fetch.ts';
import { importCheck } from './import-check.ts';
import { importRoutes } from './imports/import-routes.ts';
import { endImportsOf, tidyImports } from './imports/import-store.ts';
import { importJobs } from './job/import-jobs.ts';
import { messageImportRoutes } from './messages/message-import-routes.ts';

export const imports: Feature = {
  hooks: {
    holdings: {
      tables: {
        imports: { account: 'content', moved: { last: 't.completed_at IS NULL' } },
        import_parts: {
          moved: { by: 'import_id', of: 'imports', file: ['s3_key', "'application/octet-stream'"] },
        },
        import_refs: { account: 'last' },
        import_remarks: { moved: { by: 'import_id', of: 'imports' } },
      },
      endWorkOf: endImportsOf,
    },
    operationTexts: new URL('operations.md', import.meta.url),
    guide: { name: 'move-in', file: new URL('guide.md', import.meta.url), place: 68 },
  },
  open(node) {
    const { config, database, store, directory, guard, disposer } = node;
    return {
      join({ importedWrites }) {
        const web = new GuardedFetch(guard);
        const { dataDir } = config;
        const kind = importJobs({ database, store, dataDir, writes: importedWrites, web });
        const runner = new JobRunner(kind, node);
        disposer.add('imports', runner, (it) => it.close());
        return {
          routes: {
            messages: messageImportRoutes({ database, store, directory, importedWrites }),
            attachments: importRoutes({ database, store, maxBytes: config.importMaxBytes }),
          },
          checks: [importCheck(database)],
          tidy: () => tidyImports(database),
          // The running import is given back before the node waits for its work to end.
          drain: () => runner.close(),
        };
      },
    };
  },
};
