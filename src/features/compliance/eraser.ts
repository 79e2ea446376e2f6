import { ERASED_NAME } from '../../contract/protocol/resources/erasure.ts';
import { audit, eventsNaming } from '../../core/audit/audit.ts';
import { blankDetails } from '../../core/audit/retention.ts';
import type { SigningKey } from '../../core/audit/signing-key.ts';
import { lockConversationOf } from '../../core/conversations/conversation-store.ts';
import { muteErased, readMembershipsOf } from '../../core/conversations/participant-store.ts';
import { enqueueChanged } from '../../core/events/changes.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import { rejectDraft } from '../../core/messages/drafts/drafts.ts';
import { withdrawContent, withdrawOutside } from '../../core/messages/editing/withdraw-content.ts';
import { MESSAGE_EDITED } from '../../core/messages/outbox-topics.ts';
import { conversationsOfReactor, removeReactionsOf } from '../../core/messages/reactions/reactions.ts';
import { cancelScheduled } from '../../core/messages/schedules/scheduled.ts';
import { lockMessage } from '../../core/messages/store.ts';
import { readHead } from '../../core/messages/timeline/timeline-store.ts';
import {
  allMessagesOf,
  conversationsOfAuthor,
  replaceNameInSystemEvents,
} from '../../core/messages/whole-store.ts';
import type { MessageRow } from '../../core/resources/message.ts';
import { rewriteStoredAnswers } from '../../platform/access/stored-answers.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import type { ErasureOptions } from './erase.ts';
import {
  type ComplianceJobRow,
  endExportsOf,
  endJob,
  forgetNames,
  namesOfEarlierErasures,
} from './jobs/job-store.ts';
import type { JobWork } from './jobs/runner.ts';
import { patternsOf, withoutPerson } from './without-person.ts';

export interface EraserOptions {
  readonly database: Database;
  /** Signs the erasure of details in the audit. */
  readonly signingKey: SigningKey;
}

type Patterns = ReturnType<typeof patternsOf>;

/**
 * Erases the rest of a person after the response (erase.ts), in small repeatable transactions: its
 * name in texts that Parley wrote, its feed, previews, texts of its runs and, if requested, its
 * messages. Each locks its conversation's hold; what is held stays and is named in the result.
 */
export class Eraser {
  readonly #database: Database;
  readonly #signingKey: SigningKey;

  constructor({ database, signingKey }: EraserOptions) {
    this.#database = database;
    this.#signingKey = signingKey;
  }

  readonly run: JobWork = async (job, { signal, progress }) => {
    const database = this.#database;
    const { account_id: accountId, subject_id: id } = job;
    const names = [...new Set(await namesOfEarlierErasures(database, id))];
    const patterns = patternsOf(names);
    const held: string[] = [];
    const conversations = await this.#conversationsOf(job);
    // The feeds and the runs count as one more part.
    const total = conversations.length + 1;
    for (const [done, conversationId] of conversations.entries()) {
      progress(done, total);
      signal.throwIfAborted();
      if (await this.#eraseIn(conversationId, job, patterns, signal)) held.push(conversationId);
    }
    progress(conversations.length, total);
    const texts = names.filter(({ length }) => length >= SEARCHED_LENGTH);
    const { messages } = job.options as unknown as ErasureOptions;
    const title = patterns?.title ?? null;
    const person = { accountId, id, names, texts, title, removesMessages: messages === 'remove', signal };
    for (const holdings of allHoldings()) await holdings.erasePerson?.(database, person);
    await this.#eraseFromAudit(job, texts, signal);
    await database.transaction(async (tx) => {
      await rewriteStoredAnswers(tx, accountId, [id], (answer) => withoutPerson(answer, id));
      const ended = { status: 'complete', done: total, total, result: { held_conversations: held } } as const;
      if ((await endJob(tx, job, ended)) && held.length === 0) await forgetNames(tx, id);
    });
  };

  /** Returns conversations in which the person has ever participated, written or reacted. */
  async #conversationsOf({ account_id, subject_id }: ComplianceJobRow): Promise<string[]> {
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

  /** Returns whether the conversation is held, in which case only the membership is changed. */
  async #eraseIn(
    conversationId: string,
    job: ComplianceJobRow,
    patterns: Patterns,
    signal: AbortSignal,
  ): Promise<boolean> {
    const database = this.#database;
    const isHeld = await database.transaction(async (tx) => {
      const isHeld = await lockHold(tx, job, conversationId);
      const participantId = await muteErased(tx, conversationId, job.subject_id);
      if (participantId !== undefined) {
        await enqueueChanged(tx, [
          { event: 'participant.updated', id: participantId, stream: conversationId },
        ]);
      }
      if (!isHeld) await endExportsOf(tx, [conversationId]);
      return isHeld;
    });
    if (isHeld) return true;
    if (patterns !== null && (await this.#replaceName(conversationId, job, patterns.systemEvent, signal)))
      return true;
    const { messages } = job.options as unknown as ErasureOptions;
    return messages === 'remove' && this.#removeMessages(conversationId, job, signal);
  }

  /** Returns true if a hold was set meanwhile. */
  async #replaceName(
    conversationId: string,
    job: ComplianceJobRow,
    name: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const database = this.#database;
    const { head } = await readHead(database, conversationId);
    for (let after = 0; after < head; after += NUMBERS_AT_ONCE) {
      signal.throwIfAborted();
      const isHeld = await database.transaction(async (tx) => {
        if (await lockHold(tx, job, conversationId)) return true;
        const range = { conversationId, after, upTo: Math.min(after + NUMBERS_AT_ONCE, head) };
        for (const id of await replaceNameInSystemEvents(tx, { ...range, name, replacement: ERASED_NAME })) {
          await enqueueChanged(tx, [{ event: 'message.updated', id, stream: conversationId }]);
          await enqueue(tx, MESSAGE_EDITED, { message_id: id, conversation_id: conversationId });
        }
        return false;
      });
      if (isHeld) return true;
    }
    return false;
  }

  /** Returns true if a hold was set meanwhile. */
  async #removeMessages(
    conversationId: string,
    job: ComplianceJobRow,
    signal: AbortSignal,
  ): Promise<boolean> {
    const database = this.#database;
    const isHeld = await database.transaction(async (tx) => {
      if (await lockHold(tx, job, conversationId)) return true;
      await removeReactionsOf(tx, conversationId, job.subject_id);
      return false;
    });
    if (isHeld) return true;
    for await (const page of allMessagesOf(database, conversationId, job.subject_id)) {
      const rows = page.filter(({ deleted_at }) => deleted_at === null);
      for (let start = 0; start < rows.length; start += MESSAGES_AT_ONCE) {
        signal.throwIfAborted();
        const isHeld = await database.transaction(async (tx) => {
          if (await lockHold(tx, job, conversationId)) return true;
          for (const row of rows.slice(start, start + MESSAGES_AT_ONCE)) await removeMessage(tx, row, job);
          return false;
        });
        if (isHeld) return true;
      }
    }
    return false;
  }

  /** Audit details contain no names except in titles and topics that people wrote. */
  async #eraseFromAudit(
    { account_id }: ComplianceJobRow,
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    if (texts.length === 0) return;
    for await (const eventIds of eventsNaming(this.#database, account_id, texts)) {
      signal.throwIfAborted();
      await this.#database.transaction((tx) => blankDetails(tx, this.#signingKey, account_id, { eventIds }));
    }
  }
}

/** Locks the conversation, which may be deleted or purged by now. Returns whether it is held. */
async function lockHold(tx: Tx, { account_id }: ComplianceJobRow, conversationId: string): Promise<boolean> {
  const conversation = await lockConversationOf(tx, account_id, conversationId);
  return conversation?.legal_hold === 'held';
}

/** The conversation is locked and not held. */
async function removeMessage(tx: Tx, row: MessageRow, job: ComplianceJobRow): Promise<void> {
  let current = await lockMessage(tx, row);
  if (current.deleted_at !== null) return;
  if (current.status === 'sent') {
    await withdrawContent(tx, current);
    await audit(tx, {
      accountId: row.account_id,
      conversationId: row.conversation_id,
      actorId: job.requested_by,
      action: 'message.deleted',
      details: { message_id: row.id, erasure_id: job.id },
    });
    return;
  }
  if (current.status === 'draft')
    current = await rejectDraft(tx, { actor: { id: job.requested_by } }, current);
  if (current.status === 'scheduled') current = await cancelScheduled(tx, current, 'author_erased');
  await withdrawOutside(tx, current);
}

const NUMBERS_AT_ONCE = 5_000;
const MESSAGES_AT_ONCE = 20;
/** A shorter name would be found within other words. */
const SEARCHED_LENGTH = 3;
