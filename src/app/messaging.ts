import { EVERYTHING } from '../api/access/rights.ts';
import { Listeners } from '../core/accounts/account/listeners.ts';
import { REMOVE_WITHDRAWN, removeUnattached } from '../core/attachments/uploads.ts';
import { Sealer } from '../core/audit/sealer.ts';
import { committedHandlers } from '../core/committed/handlers.ts';
import { SentEffects } from '../core/committed/sent-effects.ts';
import { followTeam, TEAMS_CHANGED } from '../core/conversations/cases/follow-team.ts';
import { DERIVE_WAITING, deriveWaiting } from '../core/conversations/cases/waiting.ts';
import { announceWritten, InboxWriter, type WrittenConversation } from '../core/inbox/writer.ts';
import { openMissingDeliveries } from '../core/messages/schedules/missing-deliveries.ts';
import { SEND_SCHEDULED } from '../core/messages/schedules/schedule-store.ts';
import { ScheduledDelivery } from '../core/messages/schedules/scheduled-delivery.ts';
import { Sender, type SenderOptions } from '../core/messages/sending/send.ts';
import { ImportedWrites } from '../core/messages/timeline/imported-write.ts';
import { LockedWrites } from '../core/messages/timeline/locked-write.ts';
import { Numbers } from '../core/messages/timeline/numbers.ts';
import type { Committed } from '../core/messages/timeline/outgoing.ts';
import { Timeline } from '../core/messages/timeline/timeline.ts';
import { WritePaths } from '../core/messages/timeline/write-paths.ts';
import { planNotifications } from '../core/notifications/causes/notify.ts';
import { EncodedRows } from '../core/resources/encoded-rows.ts';
import { MESSAGES } from '../core/resources/message.ts';
import { NOTIFICATIONS } from '../core/resources/notification.ts';
import { FOLDED } from '../core/tables/folded-tables.ts';
import { InFlightRows } from '../platform/db/queue/in-flight-rows.ts';
import { OutboxWorker } from '../platform/db/queue/outbox-worker.ts';
import { RowFolder } from '../platform/db/queue/row-folder.ts';
import { handle } from '../platform/db/queue/topic.ts';
import type { Access } from './access.ts';
import type { Data, PartOptions } from './data.ts';
import type { OpenedFeatures } from './opened-features.ts';

interface MessagingOptions extends Pick<SenderOptions, 'guard'> {
  readonly maxBatch: number | undefined;
  readonly features: OpenedFeatures;
}

export type Messaging = Awaited<ReturnType<typeof openMessaging>>;

/**
 * Opens the write paths of messages, and their effects: events, notifications, jobs. `maxBatch`:
 * most messages in a flush of the write path.
 */
export async function openMessaging(
  { log, metrics, disposer }: PartOptions,
  { maxBatch, features, guard }: MessagingOptions,
  { database, watch, lock, engine, store, signingKey }: Data,
  { directory, settings, rights, rateLimits }: Access,
) {
  const { effects: ofFeatures } = features;
  const opened = await Listeners.open({ database, rights, read: () => features.renew(), log });
  const listeners = disposer.add('listeners', opened, (it) => it.close());
  // Opened before all writers of the outbox, so that it closes after them. Started when all its
  // handlers exist.
  const inFlight = new InFlightRows({ database, listeners, log });
  disposer.add('removal of outbox rows', inFlight, (it) => it.close());
  const sealer = new Sealer({ database, signingKey, watch, metrics, log });
  disposer.add('sealer of the audit', sealer, (it) => it.close());
  const onWritten = (written: readonly WrittenConversation[]) => announceWritten(engine, written);
  const writer = new InboxWriter({ database, watch, metrics, log, onWritten });
  disposer.add('writer of the inbox', writer, (it) => it.close());
  const folder = new RowFolder({ database, watch, log, tables: Object.values(FOLDED) });
  disposer.add('folder of names', folder, (it) => it.close());
  const worker = new OutboxWorker({ database, inFlight, watch, metrics, log });
  const outbox = disposer.add('outbox', worker, (it) => it.close());

  const timeline = new Timeline(database, engine, metrics);
  const effects = new SentEffects({
    database,
    files: store,
    engine,
    directory,
    settings,
    timeline,
    inFlight,
    metrics,
    log,
    ofFeatures,
  });
  disposer.add('effects of sent messages', effects, (it) => it.idle());
  const writes = {
    database,
    files: store,
    numbers: new Numbers({ engine, timeline, metrics }),
    timeline,
    metrics,
    maySend: () => lock.held,
    onCommitted: (committed: Committed) => effects.committed(committed),
  };
  const lockedWrites = new LockedWrites(writes);
  const importedWrites = new ImportedWrites(lockedWrites);
  const appends = { ...writes, log, planNotifications, ...(maxBatch !== undefined && { maxBatch }) };
  const writePath = new WritePaths(engine, appends);
  disposer.add('write path', writePath, (it) => it.idle());
  const sender = new Sender({ database, store, directory, writePath, lockedWrites, guard });

  const scheduled = new ScheduledDelivery({
    database,
    lockedWrites,
    metrics,
    log,
    limiter: rateLimits.deferred,
  });
  disposer.add('missing deliveries', openMissingDeliveries(database, log), (it) => it.close());
  const encoded = {
    messages: new EncodedRows(MESSAGES, { rights, metrics }),
    notifications: new EncodedRows(NOTIFICATIONS, { rights, metrics }),
  };
  for (const rows of Object.values(encoded)) {
    disposer.add('encoded rows', rows, (it) => it.close());
    rights.onChange((subject) => (subject === EVERYTHING ? rows.clear() : rows.forget(subject)));
  }
  const handlers = committedHandlers({
    database,
    files: store,
    engine,
    directory,
    rights,
    timeline,
    writePath,
    effects,
    ofFeatures,
  });
  const jobs = [
    handle(SEND_SCHEDULED, (job) => scheduled.deliver(job)),
    handle(TEAMS_CHANGED, (changed) => followTeam(database, changed)),
    handle(DERIVE_WAITING, (part) => deriveWaiting(database, part)),
    handle(REMOVE_WITHDRAWN, () => removeUnattached(database, store)),
  ];
  return { outbox, handlers, jobs, timeline, encoded, lockedWrites, importedWrites, writePath, sender };
}
