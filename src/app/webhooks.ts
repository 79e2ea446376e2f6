import { Deliverer } from '../features/webhooks/deliverer.ts';
import { eventDataReader } from '../features/webhooks/event-data.ts';
import { Health } from '../features/webhooks/health.ts';
import { Receivers } from '../features/webhooks/receivers.ts';
import { EventRecorder } from '../features/webhooks/record-events.ts';
import { openRemoval } from '../features/webhooks/removal.ts';
import { Replays } from '../features/webhooks/replays.ts';
import { RetrySchedule } from '../features/webhooks/retry-schedule.ts';
import type { AddressGuard } from '../platform/outbound/address-guard.ts';
import { GuardedPost } from '../platform/outbound/guarded-post.ts';
import type { Access } from './access.ts';
import type { Data } from './data.ts';
import type { PartOptions } from './part.ts';

export type Webhooks = ReturnType<typeof openWebhooks>;

export interface WebhooksOptions extends PartOptions {
  /** Decides which hosts this node may connect to. */
  readonly guard: AddressGuard;
  /** Default: the usual times. */
  readonly retrySchedule?: RetrySchedule | undefined;
}

/**
 * Opens what makes deliveries of committed events and sends them. Opened before the handlers of the
 * outbox, so that it closes after them.
 */
export function openWebhooks(
  { config, log, metrics, disposer, guard, retrySchedule: schedule = new RetrySchedule() }: WebhooksOptions,
  { database, watch, store }: Data,
  { rights, directory, listeners }: Access,
) {
  const posts = disposer.add('connections to webhooks', new GuardedPost(guard), (it) => it.close());
  const health = disposer.add('health of webhooks', new Health({ database, schedule, log }), (it) =>
    it.close(),
  );
  const receivers = disposer.add('receivers', new Receivers({ database, rights }), (it) => it.close());
  const deliverer = new Deliverer({
    ...{ database, watch, receivers, posts, schedule, metrics, log },
    readData: eventDataReader({ database, files: store }),
    onWritten: (written) => health.note(written),
  });
  disposer.add('webhook deliveries', deliverer, (it) => it.close());
  const removal = openRemoval({ database, schedule, keepDays: config.webhookDays, log });
  disposer.add('removal of webhook deliveries', removal, (it) => it.close());
  const recorder = new EventRecorder({ database, files: store, directory, listeners, deliveries: deliverer });
  const onDue = () => deliverer.wake();
  const replays = disposer.add('replays of webhooks', new Replays({ database, watch, onDue, log }), (it) =>
    it.close(),
  );
  return { deliverer, recorder, replays };
}
