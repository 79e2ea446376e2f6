import type { ListenersRevision } from '../../platform/db/connection/listeners-revision.ts';
import type { InFlightRows } from '../../platform/db/queue/in-flight-rows.ts';
import { showAgain } from '../conversations/participants/own-state.ts';
import { readRosterVersions } from '../conversations/rows/conversation-store.ts';
import type { Effects, NodeParts, SentMessage } from '../features/feature.ts';
import { publish } from '../frames/publish.ts';
import type { MessagesSent } from '../messages/outbox-topics.ts';
import { readSentMessages } from '../messages/rows/message-store.ts';
import {
  type DueNotifications,
  insertDue,
  readNotificationsOf,
} from '../messages/timeline/notified-store.ts';
import type { Committed, CommittedMessage } from '../messages/timeline/outgoing.ts';
import type { Timeline } from '../messages/timeline/timeline.ts';
import { planNotifications } from '../notifications/causes/notify.ts';
import { markReadAlready } from '../notifications/feed/mark-conversation.ts';
import { publishNew } from '../notifications/feed/publish-new.ts';
import type { Downloads } from '../resources/attachment.ts';
import { type MessageRow, messageEvent, withParts } from '../resources/message.ts';
import type { NotificationRow } from '../resources/notification.ts';

export interface SentEffectsOptions
  extends Pick<NodeParts, 'database' | 'engine' | 'directory' | 'settings' | 'metrics' | 'log'> {
  readonly files: Downloads;
  readonly timeline: Pick<Timeline, 'settle'>;
  readonly inFlight: Pick<InFlightRows, 'revision' | 'begin' | 'done' | 'release'>;
  /** `sent` may take long: a row waits for it without delaying the next rows. */
  readonly ofFeatures?: Pick<Effects, 'sent' | 'completed' | 'notified'>;
}

/** Maximum number of outbox rows handled together. */
const MAX_ROWS = 64;

/**
 * Makes the effects of messages that entered the timeline. Their events are published to the other
 * nodes, with those of the notifications committed with them. The notifications of other messages
 * and the agents that they start follow, and the outbox row is removed. Every step may be repeated
 * (a node that takes over starts at the first): readers recognize events by number, and a repeated
 * notification is the same one.
 */
export class SentEffects {
  readonly #options: SentEffectsOptions;
  #queue: PublishedRow[] = [];
  #running: Promise<void> | undefined;
  /** Rows that wait only for webhooks. */
  readonly #recording = new Set<Promise<void>>();

  constructor(options: SentEffectsOptions) {
    this.#options = options;
  }

  /**
   * Handles messages that this node's write path committed. Events are published before this
   * returns, in the order of the calls; the other effects follow in batches. A failure leaves the
   * row in the outbox for a sweep. Resolves when the effects succeeded or failed, without waiting
   * for webhooks.
   */
  committed({ outboxId, messages }: Committed): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#options.inFlight.begin(outboxId);
    this.#queue.push({ outboxId, messages, published: this.#publish(messages), over: resolve });
    this.#options.metrics.outboxPending.inc();
    this.#running ??= this.#runAll();
    return promise;
  }

  /** Handles rows that another node left (the sweep's handler). Rejects if work remains. */
  async takeOver(payload: MessagesSent): Promise<void> {
    const { database, files, directory } = this.#options;
    const sentIds = payload.messages.map(({ id }) => id);
    const rows = await readSentMessages(database, sentIds);
    const ids = rows.map(({ id }) => id);
    const [parts, rosters, notifications] = await Promise.all([
      withParts(database, files, rows),
      readRosterVersions(database, conversationsOf(rows)),
      readNotificationsOf(database, ids),
    ]);
    const approvers = new Map(payload.messages.map(({ id, by }) => [id, by]));
    const notificationsOf = Map.groupBy(notifications, ({ message_id }) => message_id);
    const messages: CommittedMessage[] = [];
    for (const message of parts) {
      const { id, conversation_id } = message.row;
      const rosterVersion = rosters.get(conversation_id) ?? 0;
      const facts = await directory.factsSince(conversation_id, rosterVersion);
      if (facts === undefined) continue;
      // Notifications of one message are written together: if some exist, all do.
      const made = notificationsOf.get(id);
      messages.push({
        ...message,
        audience: facts.audience,
        rosterVersion,
        notifications: made,
        by: approvers.get(id),
      });
    }
    const isPublished = await this.#publish(messages);
    await Promise.all([this.#options.ofFeatures?.sent?.(messages, true), this.#cause(messages)]);
    // The other node may have ended between making notifications and comparing them with reads.
    await markReadAlready(this.#options, idsOf(messages));
    if (!isPublished) throw new Error('publish failed on some nodes');
  }

  /** Makes the notifications that were withheld until the end of streaming. May be repeated. */
  async finished(ids: readonly string[]): Promise<void> {
    const { database, files } = this.#options;
    const rows = await readSentMessages(database, ids);
    const rosters = await readRosterVersions(database, conversationsOf(rows));
    const messages = await withParts(database, files, rows);
    await this.#cause(
      messages.map((message) => ({
        ...message,
        rosterVersion: rosters.get(message.row.conversation_id) ?? 0,
      })),
    );
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    await this.#running;
    await Promise.all(this.#recording);
  }

  /** Returns whether every node got the events; local readers have them by then. Never rejects. */
  async #publish(messages: readonly CommittedMessage[]): Promise<boolean> {
    const { engine, metrics } = this.#options;
    const sent = messages.map((message) =>
      publish(engine, messageEvent('message.created', message, message.audience)),
    );
    for (const { notifications } of messages) {
      if (notifications !== undefined) sent.push(...publishNew(this.#options, notifications));
    }
    const failed = (await Promise.allSettled(sent)).filter(({ status }) => status === 'rejected');
    metrics.publishFailures.inc(failed.length);
    return failed.length === 0;
  }

  async #runAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const rows = this.#queue.splice(0, MAX_ROWS);
      try {
        await this.#run(rows);
      } catch (error) {
        this.#fail(rows, error);
      }
      for (const { over } of rows) over();
      this.#options.metrics.outboxPending.dec(rows.length);
    }
    this.#running = undefined;
  }

  async #run(rows: readonly PublishedRow[]): Promise<void> {
    const { inFlight, ofFeatures } = this.#options;
    const { revision } = inFlight;
    const messages = rows.flatMap((row) => row.messages);
    const recorded = ofFeatures?.sent?.(messages, false);
    // If other effects fail too, their failure is logged.
    recorded?.catch(() => {});
    await this.#cause(messages);
    const removed = this.#removeDone(rows, revision, recorded);
    if (recorded === undefined) await removed;
    else this.#finishBeside(rows, removed);
  }

  async #removeDone(
    rows: readonly PublishedRow[],
    revision: ListenersRevision,
    recorded: Promise<void> | undefined,
  ): Promise<void> {
    const published = await Promise.all(rows.map((row) => row.published));
    await recorded;
    const { inFlight } = this.#options;
    inFlight.done(outboxIdsOf(rows.filter((_, index) => published[index])), revision);
    inFlight.release(outboxIdsOf(rows.filter((_, index) => !published[index])));
  }

  /** Waits without blocking the next rows: a slow receiver holds up no other effect. */
  #finishBeside(rows: readonly PublishedRow[], removed: Promise<void>): void {
    const finished = removed
      .catch((error: unknown) => this.#fail(rows, error))
      .finally(() => this.#recording.delete(finished));
    this.#recording.add(finished);
  }

  #fail(rows: readonly PublishedRow[], error: unknown): void {
    this.#options.inFlight.release(outboxIdsOf(rows));
    this.#options.log.warn(
      { err: error },
      'effects of sent messages failed, the next outbox sweep retries them',
    );
  }

  async #cause(sent: readonly Caused[]): Promise<void> {
    const { database, directory, ofFeatures } = this.#options;
    const messages = await this.#withoutAutomatic(sent);
    const made = await this.#notify(messages.filter(({ notifications }) => notifications === undefined));
    const known = messages.map(({ notifications = [] }) => notifications);
    const pushed = ofFeatures?.notified?.([...made, ...known]);
    if (pushed !== undefined) await pushed;
    const rows = sent.map(({ row }) => row);
    await showAgain(database, directory, rows);
    await ofFeatures?.completed?.(messages);
  }

  /** Leaves out automatic mail of customers, which starts no agent and causes no notification. */
  async #withoutAutomatic(messages: readonly Caused[]): Promise<readonly Caused[]> {
    const { database } = this.#options;
    const mails = messages.filter(({ row }) => row.kind === 'email' && row.visibility === 'external');
    const read = mails.length === 0 ? undefined : database.hooks.first('automaticMails');
    const automatic = await read?.(database, idsOf(mails));
    return automatic === undefined ? messages : messages.filter(({ row }) => !automatic.has(row.id));
  }

  /** Makes the notifications of these messages, grouped by account. */
  async #notify(messages: readonly Caused[]): Promise<(readonly NotificationRow[])[]> {
    const { database, directory } = this.#options;
    const due: DueNotifications[] = [];
    for (const { row, sender, rosterVersion, by } of messages) {
      const facts = await directory.factsSince(row.conversation_id, rosterVersion);
      const plan = facts && planNotifications(row, sender, facts, by);
      if (plan !== undefined) due.push({ row, plan });
    }
    const made = Map.groupBy(await insertDue(database, due), ({ account_id }) => account_id);
    const groups = [...made.values()];
    await Promise.all(groups.flatMap((rows) => publishNew(this.#options, rows)));
    if (due.length > 0) await markReadAlready(this.#options, idsOf(due));
    return groups;
  }
}

function conversationsOf(rows: readonly MessageRow[]): string[] {
  return [...new Set(rows.map(({ conversation_id }) => conversation_id))];
}

function idsOf(messages: readonly { readonly row: MessageRow }[]): string[] {
  return messages.map(({ row }) => row.id);
}

function outboxIdsOf(rows: readonly PublishedRow[]): number[] {
  return rows.map(({ outboxId }) => outboxId);
}

/** A message whose effects are due. */
type Caused = SentMessage & Pick<CommittedMessage, 'notifications' | 'by'>;

interface PublishedRow {
  readonly outboxId: number;
  readonly messages: readonly CommittedMessage[];
  readonly published: Promise<boolean>;
  /** Called when its effects have succeeded or failed. */
  readonly over: () => void;
}
