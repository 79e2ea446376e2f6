import { parseTraceparent } from '../contract/protocol/traceparent.ts';
import { ACTOR_CHANGED } from '../core/accounts/actor-changed.ts';
import { REMOVE_WITHDRAWN, removeUnattached } from '../core/attachments/uploads.ts';
import { Sealer } from '../core/audit/sealer.ts';
import { showChangedActor } from '../core/conversations/changed-actor.ts';
import {
  CONVERSATION_ASSIGNED,
  CONVERSATION_CREATED,
  CONVERSATION_DELETED,
  CONVERSATION_READ,
  CONVERSATIONS_READ,
  PARTICIPANT_ADDED,
  RESOURCES_CHANGED,
  SYSTEM_EVENT,
} from '../core/conversations/outbox-topics.ts';
import { announceWritten } from '../core/inbox/announce.ts';
import type { WrittenConversation } from '../core/inbox/write-store.ts';
import { InboxWriter } from '../core/inbox/writer.ts';
import {
  type ContentChanged,
  MESSAGE_DELETED,
  MESSAGE_EDITED,
  MESSAGES_SENT,
  SCHEDULE_NOT_SENT,
} from '../core/messages/outbox-topics.ts';
import { HAS_OVERDUE } from '../core/messages/schedules/schedule-store.ts';
import { SEND_SCHEDULED } from '../core/messages/schedules/scheduled.ts';
import { ScheduledDelivery } from '../core/messages/schedules/scheduled-delivery.ts';
import { Sender } from '../core/messages/sending/send.ts';
import { appendSystemEvent } from '../core/messages/sending/system-messages.ts';
import { LockedWrites } from '../core/messages/timeline/locked-write.ts';
import type { Committed } from '../core/messages/timeline/outgoing.ts';
import { Timeline } from '../core/messages/timeline/timeline.ts';
import { WritePath } from '../core/messages/timeline/write-path.ts';
import { notifyAdded } from '../core/notifications/added.ts';
import { notifyAssigned } from '../core/notifications/assigned.ts';
import { markConversationRead } from '../core/notifications/mark-conversation.ts';
import { followMentions } from '../core/notifications/mentions-changed.ts';
import { notifyNotSent } from '../core/notifications/not-sent.ts';
import { planNotifications } from '../core/notifications/notify.ts';
import { draftsChanged } from '../core/notifications/proposed.ts';
import { refreshNotifications } from '../core/notifications/refresh.ts';
import { EncodedRows } from '../core/resources/encoded-rows.ts';
import { MESSAGES, readMessage } from '../core/resources/message.ts';
import { NOTIFICATIONS } from '../core/resources/notification.ts';
import type { Triggers } from '../features/agents/triggers/triggers.ts';
import { removeAccounts } from '../features/compliance/account-removal.ts';
import { afterDeleted } from '../features/compliance/conversation-removal.ts';
import { Eraser } from '../features/compliance/eraser.ts';
import { Exporter } from '../features/compliance/exports/exporter.ts';
import { COMPLIANCE_JOB_DUE, endExportsOf } from '../features/compliance/jobs/job-store.ts';
import { JobRunner } from '../features/compliance/jobs/runner.ts';
import { purgeDeleted } from '../features/compliance/purge-deleted.ts';
import { FINISH_REDACTION, finishRedaction } from '../features/compliance/redact.ts';
import { RetentionSweep } from '../features/compliance/sweep.ts';
import { readMailHead } from '../features/mail/mail-store.ts';
import { EMAIL_RECEIVED } from '../features/mail/outbox-topics.ts';
import { readEvents } from '../features/platform-events/event-store.ts';
import { PLATFORM_EVENT } from '../features/platform-events/outbox-topics.ts';
import { Indexer } from '../features/search/indexer.ts';
import type { EventRecorder } from '../features/webhooks/record-events.ts';
import { EVERYTHING } from '../platform/access/rights.ts';
import { UNWOKEN_EVERY_MS } from '../platform/db/due-watch.ts';
import { InFlightRows } from '../platform/db/in-flight-rows.ts';
import { handle } from '../platform/db/topic.ts';
import { Loop } from '../platform/lifecycle.ts';
import type { Access } from './access.ts';
import type { Data } from './data.ts';
import { ChangedEffects } from './jobs/changed-effects.ts';
import { JobWorker } from './jobs/job-worker.ts';
import { OutboxWorker } from './jobs/outbox-worker.ts';
import { SentEffects } from './jobs/sent-effects.ts';
import type { PartOptions } from './part.ts';
import type { Push } from './push.ts';

export type Messaging = ReturnType<typeof openMessaging>;

export interface MessagingOptions extends PartOptions {
  /** Maximum number of messages in a flush of the write path. */
  readonly maxBatch: number | undefined;
  /** Messages and changes start agents. */
  readonly triggers: Triggers;
  /** Messages and changes go to webhooks. */
  readonly recorder: EventRecorder;
}

/**
 * Opens the paths by which messages enter timelines, and their effects: events, notifications,
 * jobs.
 */
export function openMessaging(
  { config, log, metrics, disposer, maxBatch, triggers, recorder }: MessagingOptions,
  { database, watch, lock, engine, store, signingKey }: Data,
  { directory, listeners, settings, rights, rateLimits }: Access,
  { pushes }: Push,
) {
  // Opened before everything that writes into the outbox, so that it closes after that. Started
  // once all its handlers exist.
  const inFlight = disposer.add(
    'removal of outbox rows',
    new InFlightRows({ database, listeners, log }),
    (it) => it.close(),
  );
  const sealer = new Sealer({ database, signingKey, watch, metrics, log });
  disposer.add('sealer of the audit', sealer, (it) => it.close());
  const onWritten = (written: readonly WrittenConversation[]) => announceWritten(engine, written);
  const writer = new InboxWriter({ database, watch, metrics, log, onWritten });
  disposer.add('writer of the inbox', writer, (it) => it.close());
  const worker = new OutboxWorker({ database, engine, inFlight, watch, metrics, log });
  const outbox = disposer.add('outbox', worker, (it) => it.close());

  const timeline = new Timeline(database, engine, metrics);
  const effects = new SentEffects({
    ...{ database, files: store, engine, directory, settings, timeline, inFlight, metrics, log },
    onMessages: (messages) => triggers.onMessages(messages),
    recorder,
    onNotified: (groups) => pushes.notified(groups),
  });
  disposer.add('effects of sent messages', effects, (it) => it.idle());
  const changed = new ChangedEffects({
    ...{ database, files: store, engine, recorder },
    onFinished: (messageIds) => effects.finished(messageIds),
  });

  const writes = {
    ...{ database, files: store, engine, timeline, metrics },
    maySend: () => lock.held,
    onCommitted: (committed: Committed) => effects.committed(committed),
  };
  const lockedWrites = new LockedWrites(writes);
  const writePath = new WritePath({
    ...writes,
    log,
    planNotifications,
    ...(maxBatch !== undefined && { maxBatch }),
  });
  disposer.add('write path', writePath, (it) => it.idle());
  const sender = new Sender({ database, store, directory, writePath, lockedWrites });

  const scheduled = new ScheduledDelivery({
    ...{ database, lockedWrites, metrics, log },
    limiter: rateLimits.deferred,
  });
  const recovery = new Loop({
    intervalMs: UNWOKEN_EVERY_MS,
    run: async () => void (await scheduled.recoverLost()),
    onError: (error) => log.warn({ err: error }, 'recovering lost jobs of scheduled messages failed'),
  });
  disposer.add('recovery of scheduled messages', recovery, (it) => it.close());
  watch.add({
    ...{ name: 'scheduled_messages', condition: HAS_OVERDUE, everyMs: RECOVER_EVERY_MS },
    onDue: () => recovery.wake(),
  });
  const exporter = new Exporter({ database, store, timeline, signingKey });
  const compliance = new JobRunner({
    database,
    watch,
    log,
    work: {
      conversation_export: exporter.run,
      user_export: exporter.run,
      user_erasure: new Eraser({ database, signingKey }).run,
    },
  });
  const jobs = new JobWorker({
    database,
    watch,
    handlers: [
      handle(SEND_SCHEDULED, (job) => scheduled.deliver(job)),
      handle(REMOVE_WITHDRAWN, () => removeUnattached(database, store)),
      handle(FINISH_REDACTION, (removed) => finishRedaction(database, removed)),
      handle(COMPLIANCE_JOB_DUE, (due) => compliance.due(due)),
    ],
    log,
  });
  disposer.add('jobs', jobs, (it) => it.close());
  disposer.add('compliance jobs', compliance, (it) => it.close());

  const encoded = {
    messages: new EncodedRows(MESSAGES, { engine, metrics }),
    notifications: new EncodedRows(NOTIFICATIONS, { engine, metrics }),
  };
  for (const rows of Object.values(encoded)) {
    disposer.add('encoded rows', rows, (it) => it.close());
    rights.onChange((subject) => (subject === EVERYTHING ? rows.clear() : rows.forget(subject)));
  }
  const removals = new Loop({
    intervalMs: REMOVE_EVERY_MS,
    run: async (signal) => {
      await purgeDeleted({ database, signingKey, log, restoreDays: config.restoreDays }, signal);
      await removeAccounts({ database, store, log }, signal);
    },
    onError: (error) => log.warn({ err: error }, 'removing deleted conversations and accounts failed'),
  });
  disposer.add('removals', removals, (it) => it.close());
  const contentChanged = async (changed: ContentChanged) => {
    await rights.announce(changed.message_id);
    await refreshNotifications(database, changed);
  };

  const handlers = [
    handle(MESSAGES_SENT, (sent) => effects.takeOver(sent)),
    handle(RESOURCES_CHANGED, async (changes, isRepeated) => {
      await changed.publish(changes, isRepeated);
      await pushes.changed(changes);
      await draftsChanged(database, changes.changes);
      await triggers.changed(changes.changes);
    }),
    handle(CONVERSATION_CREATED, async (created, isRepeated) => {
      await recorder.conversationCreated(created, isRepeated);
      await triggers.onConversationCreated(created);
    }),
    handle(PLATFORM_EVENT, async ({ event_id, traceparent }, isRepeated) => {
      const [event] = await readEvents(database, [event_id]);
      if (event === undefined) return;
      const trace = parseTraceparent(traceparent);
      await recorder.raised(event, trace, isRepeated);
      await triggers.onPlatformEvent(event, trace);
    }),
    handle(EMAIL_RECEIVED, async ({ mail_id }, isRepeated) => {
      const mail = await readMailHead(database, mail_id);
      if (mail === undefined) return;
      await recorder.emailReceived(mail, isRepeated);
      await triggers.onEmail(mail);
    }),
    handle(CONVERSATION_DELETED, (deleted) => afterDeleted(database, deleted)),
    handle(CONVERSATION_ASSIGNED, (assigned) => notifyAssigned(database, assigned)),
    handle(CONVERSATION_READ, (read) => markConversationRead({ database, timeline }, read)),
    handle(CONVERSATIONS_READ, async ({ read }) => {
      for (const one of read) await markConversationRead({ database, timeline }, one);
    }),
    handle(ACTOR_CHANGED, (changed) => showChangedActor(database, changed)),
    handle(PARTICIPANT_ADDED, (added) => notifyAdded(database, added)),
    handle(SYSTEM_EVENT, (event) => appendSystemEvent(writePath, event)),
    handle(SCHEDULE_NOT_SENT, (ended) => notifyNotSent(database, ended)),
    handle(MESSAGE_EDITED, async (edited) => {
      await contentChanged(edited);
      await followMentions({ database, directory }, edited);
    }),
    handle(MESSAGE_DELETED, async (deleted) => {
      await contentChanged(deleted);
      const message = await readMessage(database, deleted.message_id);
      const subjects = [deleted.conversation_id, message?.author_id ?? []].flat();
      await database.transaction((tx) => endExportsOf(tx, subjects));
    }),
  ];
  const retention = new RetentionSweep({
    ...{ database, signingKey, metrics, log },
    nodeId: engine.nodeId,
    everyMs: config.retentionSweepMs,
  });
  disposer.add('retention sweep', retention, (it) => it.close());
  disposer.add('search index', new Indexer({ database, watch, metrics, log }), (it) => it.close());
  return { outbox, handlers, timeline, encoded, lockedWrites, writePath, sender, retention };
}

const RECOVER_EVERY_MS = 1_000;
const REMOVE_EVERY_MS = 60 * 1_000;
