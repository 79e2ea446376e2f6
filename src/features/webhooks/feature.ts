import type { Feature } from '../../core/features/feature.ts';
import { GuardedPost } from '../../platform/outbound/guarded-post.ts';
import { callbackRoutes } from './callback-routes.ts';
import { callbacks } from './callbacks.ts';
import { Completeness } from './completeness.ts';
import { completenessRoutes } from './completeness-routes.ts';
import { Deliverer } from './deliverer.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { eventDataReader } from './event-data.ts';
import { Health } from './health.ts';
import { type ListeningWebhooks, readListeningWebhooks } from './listening-webhooks.ts';
import { webhookMetrics } from './metrics.ts';
import { Receivers } from './receivers.ts';
import { EventRecorder } from './record-events.ts';
import { openRemoval } from './removal.ts';
import { Replays } from './replays.ts';
import { WEBHOOK_TIMES, type WebhookTimes } from './times.ts';
import { webhookCheck } from './webhook-check.ts';
import { webhookRoutes } from './webhook-routes.ts';

const OF_WEBHOOKS = { by: 'webhook_id', of: 'webhooks' };

export const webhooks: Feature = webhooksBy(WEBHOOK_TIMES);

/** Returns the feature; campaigns pass shorter times. */
export function webhooksBy(times: WebhookTimes): Feature {
  return {
    hooks: {
      holdings: {
        tables: {
          webhooks: { account: 'content', moved: { last: 'true' } },
          webhook_progress: { moved: OF_WEBHOOKS },
          webhook_deliveries: {
            account: 'content',
            moved: { ...OF_WEBHOOKS, last: 't.next_try_at IS NOT NULL' },
          },
        },
      },
      callbacks,
      operationTexts: new URL('operations.md', import.meta.url),
      guide: { name: 'webhooks', file: new URL('guide.md', import.meta.url), place: 66 },
    },
    open(node) {
      const { config, database, watch, store, rights, directory, guard, log, disposer } = node;
      const metrics = webhookMetrics(node.metrics);
      const listeners = { found: { webhooks: new Map() as ListeningWebhooks } };
      const posts = disposer.add('connections to webhooks', new GuardedPost(guard), (it) => it.close());
      const health = disposer.add('health of webhooks', new Health({ database, times, log }), (it) =>
        it.close(),
      );
      const receivers = disposer.add('receivers', new Receivers({ database, rights }), (it) => it.close());
      const readData = eventDataReader({ database, files: store });
      const deliverer = new Deliverer({
        database,
        watch,
        receivers,
        posts,
        times,
        metrics,
        log,
        readData,
        onWritten: (written) => health.note(written),
      });
      disposer.add('webhook deliveries', deliverer, (it) => it.close());
      const removal = openRemoval({ database, times, keepDays: config.webhookDays, log });
      disposer.add('removal of webhook deliveries', removal, (it) => it.close());
      const recorder = new EventRecorder({ database, files: store, directory, listeners, deliverer });
      const replays = disposer.add('replays of webhooks', new Replays(node, () => deliverer.wake()), (it) =>
        it.close(),
      );
      return {
        effects: {
          sent: (messages, isRepeated) => recorder.sent(messages, isRepeated),
          published: (events, changes, isRepeated) => recorder.changed(events, changes, isRepeated),
          conversationCreated: (created, isRepeated) => recorder.conversationCreated(created, isRepeated),
          happened: (event, isRepeated) => recorder.happened(event, isRepeated),
        },
        async renew() {
          listeners.found = { webhooks: await readListeningWebhooks(database) };
        },
        join({ timeline }) {
          const completeness = new Completeness({ database, timeline, log });
          return {
            routes: {
              settings: [
                ...webhookRoutes(node),
                ...callbackRoutes(node),
                ...deliveryRoutes(database, deliverer, readData),
                ...completenessRoutes(database, completeness, replays),
              ],
            },
            checks: [webhookCheck(metrics)],
            drain: (ms) => deliverer.drain(ms),
          };
        },
      };
    },
  };
}
