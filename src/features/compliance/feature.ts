import type { Feature } from '../../core/features/feature.ts';
import { readMessage } from '../../core/resources/message.ts';
import { JobRunner } from '../../platform/db/queue/leased-jobs.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { Loop } from '../../platform/lifecycle.ts';
import { removeAccounts } from './account-removal.ts';
import { accountRemovalRoutes } from './account-routes.ts';
import { afterDeleted } from './conversation-removal.ts';
import { Eraser } from './eraser.ts';
import { erasureRoutes } from './erasure-routes.ts';
import { exportRoutes } from './exports/export-routes.ts';
import { Exporter } from './exports/exporter.ts';
import { endExportsOf, tidyJobs } from './jobs/job-store.ts';
import { complianceJobs, type JobWork } from './jobs/runner.ts';
import { complianceMetrics } from './metrics.ts';
import { policyRoutes } from './policy-routes.ts';
import { purgeDeleted } from './purge-deleted.ts';
import { FINISH_REDACTION, finishRedaction } from './redact.ts';
import { removalRoutes } from './removal-routes.ts';
import { RetentionSweep } from './sweep.ts';

export const compliance: Feature = {
  hooks: {
    holdings: {
      tables: {
        retention_policies: { account: 'last', moved: { last: 'true' } },
        compliance_jobs: {
          account: 'content',
          file: 's3_key',
          moved: { last: 't.completed_at IS NULL', file: ['s3_key', "'application/zip'"] },
        },
      },
    },
    operationTexts: new URL('operations.md', import.meta.url),
  },
  open(node) {
    const { config, database, store, log, disposer } = node;
    return {
      effects: {
        conversationDeleted: (deleted) => afterDeleted(database, deleted),
        async messageDeleted({ message_id, conversation_id }) {
          const message = await readMessage(database, message_id);
          const subjects = [conversation_id, message?.author_id ?? []].flat();
          await database.transaction((tx) => endExportsOf(tx, subjects));
        },
      },
      join({ timeline }) {
        const exporter = new Exporter({ ...node, timeline });
        const work = {
          conversation_export: exporter.run,
          user_export: exporter.run,
          user_erasure: (...of: Parameters<JobWork>) => new Eraser(node, ...of).run(),
        };
        const runner = new JobRunner(complianceJobs(database, work), node);
        disposer.add('compliance jobs', runner, (it) => it.close());
        const removals = new Loop({
          intervalMs: REMOVE_EVERY_MS,
          run: async (signal) => {
            await purgeDeleted({ ...node, restoreDays: config.restoreDays }, signal);
            await removeAccounts(node, signal);
          },
          onError: (error) => log.warn({ err: error }, 'removing deleted conversations and accounts failed'),
        });
        disposer.add('removals', removals, (it) => it.close());
        const retention = new RetentionSweep({
          ...node,
          metrics: complianceMetrics(node.metrics),
          nodeId: node.engine.nodeId,
          everyMs: config.retentionSweepMs,
        });
        disposer.add('retention sweep', retention, (it) => it.close());
        return {
          routes: {
            audit: [...policyRoutes(database, retention), ...accountRemovalRoutes()],
            messages: removalRoutes(node),
            attachments: [...exportRoutes(database, store), ...erasureRoutes(database)],
          },
          jobs: [handle(FINISH_REDACTION, (removed) => finishRedaction(database, removed))],
          tidy: () => tidyJobs(database),
          // The running job is given back before the node waits for its work to end.
          drain: () => runner.close(),
        };
      },
    };
  },
};

const REMOVE_EVERY_MS = 60 * 1_000;
