import { ApiError, ERRORS, invalid } from '@parley/protocol/errors/errors.ts';
import type { SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { AddressGuard } from '../../../platform/outbound/address-guard.ts';
import type { ObjectStore } from '../../attachments/storage.ts';
import { isCustomerBlocked } from '../../conversations/blocks/blocks.ts';
import { readableConversation } from '../../conversations/directory/access.ts';
import type { ConversationDirectory } from '../../conversations/directory/directory.ts';
import { requireComing } from '../../conversations/participants/own-state.ts';
import { lockConversation } from '../../conversations/rows/conversation-store.ts';
import { customerBlocked } from '../../resources/actor.ts';
import type { MessageRow } from '../../resources/message.ts';
import { openDraft } from '../drafts/drafts.ts';
import { readOriginal } from '../rows/message-store.ts';
import { goesToCustomer } from '../rules/destination.ts';
import { requireQuestions } from '../rules/questions.ts';
import { check, checkBody } from '../rules/send-rules.ts';
import { scheduleMessage } from '../schedules/scheduled.ts';
import { followExternal, requireActive } from '../timeline/external-message.ts';
import type { LockedWrites } from '../timeline/locked-write.ts';
import type { AnswerOf, Outgoing } from '../timeline/outgoing.ts';
import type { WritePath } from '../timeline/write-path.ts';
import { compose, type Forwarding } from './compose.ts';
import { resolve } from './resolve.ts';

export interface SenderOptions {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly directory: ConversationDirectory;
  readonly writePath: Pick<WritePath, 'append'>;
  readonly lockedWrites: LockedWrites;
  readonly guard: AddressGuard;
}

/**
 * Addresses a customer's message to everyone in the case, also without a stated audience. Throws
 * ApiError `validation_failed` for a note of the team.
 */
function askedBy({ customer }: Principal, body: SendMessageBody): SendMessageBody {
  if (!customer) return body;
  if (body.audience === 'internal') {
    throw invalid('audience', 'Everyone in the case reads what a customer sends. Leave audience out.');
  }
  return { ...body, audience: 'customer' };
}

/**
 * Send Message (docs/contract.md#sending-a-message), from a checked body to the answer for the
 * committed message.
 */
export class Sender {
  readonly #options: SenderOptions;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Makes the checks that depend only on the body. A past time is refused unless the request is a
   * resend, whose message was scheduled earlier. `carries` as in checkBody. Throws ApiError.
   */
  check(
    principal: Principal,
    conversationId: string,
    body: SendMessageBody,
    carries = false,
  ): Promise<void> | void {
    checkBody(principal, askedBy(principal, body), carries);
    if (body.question !== undefined) {
      return requireQuestions(this.#options.database).check(this.#options, principal, body);
    }
    if (body.scheduled_at === undefined) return;
    const findOriginal = () => this.#findOriginal(principal, conversationId, body);
    return requireComing(this.#options.database, body.scheduled_at, 'scheduled_at', findOriginal);
  }

  /**
   * Resolves when the message is committed. A resend with the same client_message_id resolves with
   * the original, whatever else it contains. Runs of agents that the message starts belong to
   * `trace`. Throws ApiError.
   */
  async send<Answer extends object>(
    principal: Principal,
    conversationId: string,
    body: SendMessageBody,
    answer: AnswerOf<Answer>,
    trace: TraceContext | undefined,
    forwarding?: Forwarding,
  ): Promise<Answer> {
    const facts = await readableConversation(this.#options.directory, principal, conversationId);
    const asked = askedBy(principal, body);
    try {
      const { database, store } = this.#options;
      check(principal, facts, asked);
      const resolved = await resolve(database, store, principal, facts, asked);
      const question =
        asked.question === undefined
          ? undefined
          : requireQuestions(database).compose(principal, facts, asked);
      const outgoing = compose(principal, facts, asked, resolved, { trace, forwarding, question });
      const { id } = outgoing.message;
      return await this.#enter(principal, asked, outgoing, (row, tx) => answer(row, tx, row.id !== id));
    } catch (refusal) {
      // A resend may arrive after one of its resources was deleted or the caller was blocked: the
      // answer is still the original.
      const isFinal = refusal instanceof ApiError && !ERRORS[refusal.condition].transient;
      const original = isFinal ? await this.#findOriginal(principal, facts.id, asked) : undefined;
      if (original === undefined) throw refusal;
      return answer(original, undefined, true);
    }
  }

  async #enter<Answer extends object>(
    principal: Principal,
    body: SendMessageBody,
    outgoing: Outgoing,
    answer: AnswerOf<Answer>,
  ): Promise<Answer> {
    const { database, writePath } = this.#options;
    const { message } = outgoing;
    const { mode, scheduled_at: at, source_thread_message_id: source = null } = body;
    if (mode === 'draft') {
      return database.transaction(async (tx) => {
        requireActive(await lockConversation(tx, message.conversation_id));
        return answer(await openDraft(tx, message, source, principal.actor.id), tx);
      });
    }
    if (at !== undefined) {
      return database.transaction(async (tx) => answer(await scheduleMessage(tx, message, at), tx));
    }
    if (goesToCustomer(body) || body.question !== undefined) {
      return this.#enterLocked(principal, body, outgoing, answer);
    }
    const { row } = await writePath.append(outgoing);
    return answer(row);
  }

  /** Sends a message between the team and a customer, which moves the case, or one that asks. */
  async #enterLocked<Answer extends object>(
    principal: Principal,
    body: SendMessageBody,
    outgoing: Outgoing,
    answer: AnswerOf<Answer>,
  ): Promise<Answer> {
    const by = principal.customer ? null : principal.actor.id;
    const { row, followed } = await this.#options.lockedWrites.enter(
      outgoing.message.conversation_id,
      async (tx, conversation) => {
        requireActive(conversation);
        // The caller's rights were read before this lock was taken.
        const isOlder = conversation.roster_version !== outgoing.facts?.rosterVersion;
        const isBlocked = principal.customer && isOlder && (await isCustomerBlocked(tx, principal.actor.id));
        if (isBlocked) throw customerBlocked();
        return outgoing;
      },
      async (tx, written) => {
        if (goesToCustomer(body)) await followExternal(tx, written, by);
        if (body.question !== undefined) await requireQuestions(tx).asked(tx, written.row, body);
        return answer(written.row, tx);
      },
    );
    return followed ?? answer(row);
  }

  /**
   * Returns the author's message with the same client_message_id in this conversation. Drafts have
   * no such id (docs/contract.md#sending-a-message).
   */
  async #findOriginal(
    { actor }: Principal,
    conversation_id: string,
    { mode, client_message_id }: SendMessageBody,
  ): Promise<MessageRow | undefined> {
    if (mode === 'draft' || !client_message_id) return undefined;
    return readOriginal(this.#options.database, { conversation_id, author_id: actor.id, client_message_id });
  }
}
