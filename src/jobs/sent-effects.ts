import type { Downloads } from '../attachments/storage.ts';
import type { ConversationDirectory } from '../conversations/directory.ts';
import { messageEvent } from '../conversations/message-present.ts';
import {
  type MessageRow,
  type MessageWithParts,
  messageColumns,
  withParts,
} from '../conversations/message-rows.ts';
import { showAgain } from '../conversations/own-state.ts';
import type { Database } from '../db/database.ts';
import { removeDone } from '../db/outbox.ts';
import type { Engine } from '../engine/engine.ts';
import { publish } from '../engine/publish.ts';
import type { Logger } from '../log.ts';
import type { MessagesSent } from '../messages/outbox-topics.ts';
import type { Committed, CommittedMessage } from '../messages/outgoing.ts';
import type { Metrics } from '../metrics.ts';
import { type NewNotification, notificationsFor } from '../notifications/notify.ts';
import { notificationEvent } from '../notifications/present.ts';
import { insertNotifications } from '../notifications/store.ts';

export interface SentEffectsOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly engine: Engine;
  readonly directory: ConversationDirectory;
  /** What messages start inside Postgres besides; called before their outbox row goes, and may be called again. */
  readonly onSaid?: (messages: readonly Caused[]) => Promise<void>;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Outbox rows whose effects are dealt with together. */
const MAX_ROWS = 64;

/**
 * What messages that entered the timeline cause: their events reach the other nodes, their recipients
 * get notifications, and then the outbox row goes. Every step may happen again (a node that takes
 * over starts at the first): events are told apart by number, notifications by a unique key.
 */
export class SentEffects {
  readonly #options: SentEffectsOptions;
  #queue: PublishedRow[] = [];
  #running: Promise<void> | undefined;

  constructor(options: SentEffectsOptions) {
    this.#options = options;
  }

  /**
   * What this node's own write path committed. Events go out before this returns, in the order of the
   * calls; the rest follows behind, in batches of whatever has come meanwhile. What fails stays in the
   * outbox and is taken up by a sweep.
   */
  committed({ outboxId, messages }: Committed): void {
    this.#queue.push({ outboxId, messages, published: this.#publish(messages) });
    this.#options.metrics.outboxPending.inc();
    this.#running ??= this.#runAll();
  }

  /** What another node left behind (a sweep's handler). Rejects when something is left to do. */
  async takeOver(payload: MessagesSent): Promise<void> {
    const { database, files, directory } = this.#options;
    const ids = payload.messages.map(({ id }) => id);
    const rows = await database.query<MessageRow>(READ_MESSAGES, [ids]);
    const messages: CommittedMessage[] = [];
    for (const message of await withParts(database, files, rows)) {
      const facts = await directory.facts(message.row.conversation_id);
      if (facts !== undefined) messages.push({ ...message, audience: facts.audience });
    }
    const everybodyTold = await this.#publish(messages);
    await this.#cause(messages);
    if (!everybodyTold) throw new Error('publish failed on some nodes');
  }

  /** Texts that were written to their ends: who was not notified of the beginning is of the whole. May be called again. */
  async finished(ids: readonly string[]): Promise<void> {
    const { database, files } = this.#options;
    const rows = await database.query<MessageRow>(READ_MESSAGES, [ids]);
    await this.#cause(await withParts(database, files, rows));
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Whether every node could be told; local readers have been when it returns. Never rejects. */
  async #publish(messages: readonly CommittedMessage[]): Promise<boolean> {
    const { engine, metrics } = this.#options;
    const sent = messages.map((message) =>
      publish(engine, messageEvent('message.created', message, message.audience)),
    );
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
        this.#options.log.warn(
          { err: error },
          'effects of sent messages failed, the next outbox sweep retries them',
        );
      }
      this.#options.metrics.outboxPending.dec(rows.length);
    }
    this.#running = undefined;
  }

  async #run(rows: readonly PublishedRow[]): Promise<void> {
    await this.#cause(rows.flatMap(({ messages }) => messages));
    const told = await Promise.all(rows.map((row) => row.published));
    const done = rows.filter((_, index) => told[index]);
    if (done.length > 0) {
      await removeDone(
        this.#options.database.relaxed,
        done.map(({ outboxId }) => outboxId),
      );
    }
  }

  async #cause(messages: readonly Caused[]): Promise<void> {
    const { database, directory } = this.#options;
    await this.#notify(messages);
    await showAgain(
      database,
      directory,
      messages.map(({ row }) => row),
    );
    await this.#options.onSaid?.(messages);
  }

  async #notify(messages: readonly MessageWithParts[]): Promise<void> {
    const { database, directory, engine } = this.#options;
    const wanted: NewNotification[] = [];
    for (const { row, sender } of messages) {
      // There is nothing to read yet.
      if (row.streaming_state === 'streaming') continue;
      const cached = directory.facts(row.conversation_id);
      const facts = cached instanceof Promise ? await cached : cached;
      if (facts !== undefined) wanted.push(...notificationsFor(row, sender, facts));
    }
    const rows = await insertNotifications(database, wanted);
    // A feed is told in the order of its list.
    rows.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
    await Promise.all(rows.map((row) => publish(engine, notificationEvent('notification.created', row))));
  }
}

/** A message whose effects are due. */
type Caused = MessageWithParts & Pick<CommittedMessage, 'trace'>;

interface PublishedRow {
  readonly outboxId: number;
  readonly messages: readonly CommittedMessage[];
  readonly published: Promise<boolean>;
}

const READ_MESSAGES = {
  name: 'read-sent-messages',
  text: `
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.id = ANY($1) AND m.status = 'sent' ORDER BY m.conversation_id, m.sequence`,
};
