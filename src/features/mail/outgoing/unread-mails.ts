import { derivedId } from '@parley/protocol/ids.ts';
import { lockConversation } from '../../../core/conversations/rows/conversation-store.ts';
import type { NodeParts, SentMessage } from '../../../core/features/feature.ts';
import { NEUTRAL_SUBJECT } from '../../../core/messages/removal/withdraw-content.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { addJob } from '../../../platform/db/queue/queue.ts';
import { defineTopic } from '../../../platform/db/queue/topic.ts';
import { domainOf } from '../mailboxes/mailbox-address.ts';
import { mayAnswer } from './loop-limit.ts';
import { makeMessageId } from './message-ids.ts';
import { recordOutcome } from './outcome.ts';
import type { OutgoingOptions } from './outgoing.ts';
import { insertDue } from './outgoing-store.ts';
import { withoutPrefixes } from './subject.ts';
import { readUnreadCustomers, readUnreadFacts } from './unread-store.ts';

/** A job of the queue: answers in a case may have been unread for long enough to be mailed. */
export const ANSWER_UNREAD = defineTopic<AnswerUnread>('mail.answer_unread');

interface AnswerUnread {
  readonly conversation_id: string;
}

export type UnreadOptions = Pick<NodeParts, 'database' | 'directory'>;

/** Milliseconds for which the first unread answer waits for its reader. */
const UNREAD_MS = 5 * 60 * 1_000;

/**
 * Looks at answers later that may stay unread: those of cases whose widget mails them. Costs other
 * messages nothing.
 */
export async function awaitReading(options: UnreadOptions, messages: readonly SentMessage[]): Promise<void> {
  for (const { row, sender } of messages) {
    if (row.visibility !== 'external' || row.channel === 'email' || sender?.type === 'user') continue;
    await awaitReadingOf(options, row.conversation_id);
  }
}

export async function awaitReadingOf(
  { database, directory }: UnreadOptions,
  conversationId: string,
): Promise<void> {
  const facts = await directory.facts(conversationId);
  if (facts?.mailsAnswers !== true) return;
  await database.transaction((tx) => lookLater(tx, conversationId));
}

/** Adds the job of the case, unless one waits that comes earlier. */
function lookLater(tx: Tx, conversationId: string): Promise<void> {
  const key = `answer unread ${conversationId}`;
  return addJob(
    tx,
    ANSWER_UNREAD,
    { conversation_id: conversationId },
    { key, afterMs: UNREAD_MS, keepsEarlier: true },
  );
}

/**
 * Makes the mail of the unread answers of a case: one until they are read, under the lock of the
 * case, so that it is one whatever dies in between. While a socket of the customer is open it looks
 * again later. The text is written at each try of the mail (write-reply.ts), of what is unread
 * then.
 */
export async function mailUnread(
  { database, key, log, hasTransport, onDue }: OutgoingOptions,
  { conversation_id: conversationId }: AnswerUnread,
): Promise<void> {
  const mailId = await database.transaction(async (tx) => {
    await lockConversation(tx, conversationId);
    const unread = (await readUnreadCustomers(tx, conversationId)).filter(({ is_mailed }) => !is_mailed);
    const away = unread.filter(({ is_present }) => !is_present);
    if (away.length === 0) {
      if (unread.length > 0) await lookLater(tx, conversationId);
      return undefined;
    }
    const messageId = away[0]!.message_id;
    const id = derivedId('mail', messageId);
    const facts = await readUnreadFacts(tx, messageId);
    const { account_id, inbox_id, address, answers } = facts;
    const subject = withoutPrefixes(facts.thread_subject ?? '') || `${NEUTRAL_SUBJECT}${facts.account_name}`;
    const to = away.map((customer) => customer.address);
    const isNew = await insertDue(tx, [
      {
        id,
        account_id,
        inbox_id,
        direction: 'out',
        purpose: 'reply',
        conversation_id: conversationId,
        message_id: messageId,
        rfc_id: makeMessageId(key, { conversationId, mailId: id }, domainOf(address)),
        status: 'queued',
        reason: hasTransport ? null : 'no_transport',
        automatic: true,
        from_address: address,
        from_name: facts.persona ?? facts.inbox_name,
        recipients: JSON.stringify(
          to.map((one) => ({ address: one, kind: 'to', status: 'queued', code: null })),
        ),
        subject: answers === null ? subject : `Re: ${subject}`,
        in_reply_to: answers,
        thread_ids: [...facts.thread_ids],
      },
    ]);
    if (!isNew) return undefined;
    if (await mayAnswer(tx, { account_id, inbox_id }, to)) return id;
    log.warn({ mail_id: id, inbox_id, conversation_id: conversationId }, 'too many automatic mails');
    await recordOutcome(tx, { mailId: id, status: 'failed', reason: 'loop_limit' });
    return undefined;
  });
  if (mailId !== undefined) await onDue(mailId);
}
