import { ERASED_NAME } from '@parley/protocol/resources/erasure.ts';
import { rewriteStoredAnswers } from '../../api/access/stored-answers.ts';
import { auditMessage, eventsNaming } from '../../core/audit/audit.ts';
import { blankDetails } from '../../core/audit/retention.ts';
import type { SigningKey } from '../../core/audit/signing-key.ts';
import { lockConversationOf } from '../../core/conversations/rows/conversation-store.ts';
import { muteErased, readMembershipsOf } from '../../core/conversations/rows/participant-store.ts';
import { enqueueChanged } from '../../core/events/changes.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { rejectDraft } from '../../core/messages/drafts/drafts.ts';
import { MESSAGE_EDITED } from '../../core/messages/outbox-topics.ts';
import { conversationsOfReactor, removeReactionsOf } from '../../core/messages/reactions/reactions.ts';
import {
  allMessagesOf,
  conversationsOfAuthor,
  replaceNameInSystemEvents,
} from '../../core/messages/removal/whole-store.ts';
import { withdrawContent, withdrawOutside } from '../../core/messages/removal/withdraw-content.ts';
import { lockMessage } from '../../core/messages/rows/message-store.ts';
import { cancelScheduled } from '../../core/messages/schedules/scheduled.ts';
import { readHead } from '../../core/messages/timeline/timeline-store.ts';
import type { MessageRow } from '../../core/resources/message.ts';
import { BackgroundWork } from '../../platform/background.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import type { JobContext } from '../../platform/db/queue/leased-jobs.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import type { ErasureOptions } from './erase.ts';
import {
  type ComplianceJobRow,
  endExportsOf,
  endJob,
  forgetNames,
  namesOfErasures,
} from './jobs/job-store.ts';
import { patternsOf, withoutPerson } from './without-person.ts';

/**
 * Erases the rest of a person after the response (erase.ts), in small repeatable transactions: its
 * name in texts that Parley wrote, its feed, previews, texts of its runs and, if requested, its
 * messages. Each transaction locks its conversation's hold; held content stays and is named in the
 * result.
 */
export class Eraser {
  readonly #database: Database;
  readonly #signingKey: SigningKey;
  readonly #job: ComplianceJobRow;
  readonly #context: JobContext;
  readonly #removesMessages: boolean;
  readonly #work: BackgroundWork;

  constructor(
    { database, signingKey }: Pick<NodeParts, 'database' | 'signingKey'>,
    job: ComplianceJobRow,
    context: JobContext,
  ) {
    this.#database = database;
    this.#signingKey = signingKey;
    this.#job = job;
    this.#context = context;
    this.#work = new BackgroundWork(database.load);
    this.#removesMessages = (job.options as unknown as ErasureOptions).messages === 'remove';
  }

  async run(): Promise<void> {
    const database = this.#database;
    const { account_id: accountId, subject_id: id } = this.#job;
    const { signal, progress } = this.#context;
    const names = await namesOfErasures(database, id);
    const patterns = patternsOf(names);
    const held: string[] = [];
    const conversations = await this.#conversations();
    // The feeds and the runs count as one more part.
    const total = conversations.length + 1;
    for (const [done, conversationId] of conversations.entries()) {
      progress(done, total);
      if (await this.#eraseIn(conversationId, patterns?.systemEvent)) held.push(conversationId);
    }
    progress(conversations.length, total);
    const texts = names.filter(({ length }) => length >= SEARCHED_LENGTH);
    const title = patterns?.title ?? null;
    const person = { accountId, id, names, texts, title, removesMessages: this.#removesMessages, signal };
    for (const holdings of allHoldings(database)) await holdings.erasePerson?.(database, person);
    await this.#eraseFromAudit(texts);
    await database.transaction(async (tx) => {
      await rewriteStoredAnswers(tx, accountId, [id], (answer) => withoutPerson(answer, id));
      const ended = { status: 'complete', done: total, total, result: { held_conversations: held } } as const;
      if ((await endJob(tx, this.#job, ended)) && held.length === 0) await forgetNames(tx, id);
    });
  }

  /** Returns conversations in which the person has ever participated, written or reacted. */
  async #conversations(): Promise<string[]> {
    const { account_id, subject_id } = this.#job;
    const ids = new Set<string>();
    for await (const rows of readMembershipsOf(this.#database, subject_id)) {
      for (const { conversation_id } of rows) ids.add(conversation_id);
    }
    for await (const rows of conversationsOfAuthor(this.#database, account_id, subject_id)) {
      for (const { id } of rows) ids.add(id);
    }
    for (const id of await conversationsOfReactor(this.#database, subject_id)) ids.add(id);
    return [...ids];
  }

  /**
   * Returns whether the conversation is held, in which case only the membership is changed. `name`
   * finds the names in texts of Parley.
   */
  async #eraseIn(conversationId: string, name: string | undefined): Promise<boolean> {
    const isHeld = await this.#unlessHeld(
      conversationId,
      (tx) => endExportsOf(tx, [conversationId]),
      async (tx) => {
        const id = await muteErased(tx, conversationId, this.#job.subject_id);
        if (id === undefined) return;
        await enqueueChanged(tx, [{ event: 'participant.updated', id, stream: conversationId }]);
      },
    );
    if (isHeld) return true;
    if (name !== undefined && (await this.#replaceName(conversationId, name))) return true;
    return this.#removesMessages && this.#removeMessages(conversationId);
  }

  /** Returns true if a hold was set meanwhile. */
  async #replaceName(conversationId: string, name: string): Promise<boolean> {
    const { head } = await readHead(this.#database, conversationId);
    for (let after = 0; after < head; after += NUMBERS_AT_ONCE) {
      const range = { conversationId, after, upTo: Math.min(after + NUMBERS_AT_ONCE, head) };
      const isHeld = await this.#unlessHeld(conversationId, async (tx) => {
        for (const id of await replaceNameInSystemEvents(tx, { ...range, name, replacement: ERASED_NAME })) {
          await enqueueChanged(tx, [{ event: 'message.updated', id, stream: conversationId }]);
          await enqueue(tx, MESSAGE_EDITED, { message_id: id, conversation_id: conversationId });
        }
      });
      if (isHeld) return true;
    }
    return false;
  }

  /** Returns true if a hold was set meanwhile. */
  async #removeMessages(conversationId: string): Promise<boolean> {
    const { subject_id } = this.#job;
    const isHeld = await this.#unlessHeld(conversationId, (tx) =>
      removeReactionsOf(tx, conversationId, subject_id),
    );
    if (isHeld) return true;
    for await (const page of allMessagesOf(this.#database, conversationId, subject_id)) {
      const rows = page.filter(({ deleted_at }) => deleted_at === null);
      for (let start = 0; start < rows.length; start += MESSAGES_AT_ONCE) {
        const isHeld = await this.#unlessHeld(conversationId, async (tx) => {
          for (const row of rows.slice(start, start + MESSAGES_AT_ONCE))
            await removeMessage(tx, row, this.#job);
        });
        if (isHeld) return true;
      }
    }
    return false;
  }

  /**
   * Locks the conversation, which may be deleted or purged by now. Runs `always` and, unless it is
   * held, `work`. Returns whether it is held.
   */
  async #unlessHeld(
    conversationId: string,
    work: (tx: Tx) => Promise<unknown>,
    always?: (tx: Tx) => Promise<void>,
  ): Promise<boolean> {
    await this.#work.rest(this.#context.signal);
    this.#context.signal.throwIfAborted();
    return this.#database.transaction(async (tx) => {
      const conversation = await lockConversationOf(tx, this.#job.account_id, conversationId);
      await always?.(tx);
      const isHeld = conversation?.legal_hold === 'held';
      if (!isHeld) await work(tx);
      return isHeld;
    });
  }

  /** Erases names from audit details, where only titles and topics that people wrote have them. */
  async #eraseFromAudit(texts: readonly string[]): Promise<void> {
    const { account_id } = this.#job;
    if (texts.length === 0) return;
    for await (const eventIds of eventsNaming(this.#database, account_id, texts)) {
      this.#context.signal.throwIfAborted();
      await this.#database.transaction((tx) => blankDetails(tx, this.#signingKey, account_id, { eventIds }));
    }
  }
}

/** Removes a message of a conversation that is locked and not held. */
async function removeMessage(tx: Tx, row: MessageRow, job: ComplianceJobRow): Promise<void> {
  let current = await lockMessage(tx, row);
  if (current.deleted_at !== null) return;
  if (current.status === 'sent') {
    await withdrawContent(tx, current);
    return auditMessage(tx, job.requested_by, row, 'message.deleted', { erasure_id: job.id });
  }
  const by = { actor: { id: job.requested_by } };
  if (current.status === 'draft') current = await rejectDraft(tx, by, current);
  if (current.status === 'scheduled') current = await cancelScheduled(tx, current, 'author_erased');
  await withdrawOutside(tx, current);
}

const NUMBERS_AT_ONCE = 5_000;
const MESSAGES_AT_ONCE = 20;
/** A shorter name would be found within other words. */
const SEARCHED_LENGTH = 3;
