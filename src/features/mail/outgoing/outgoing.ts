import { derivedId } from '@parley/protocol/ids.ts';
import type { EmailRecipient } from '@parley/protocol/resources/email.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { EmailDue } from '../../../core/messages/outbox-topics.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { domainOf, withoutTag } from '../mailboxes/mailbox-address.ts';
import { updateThread } from '../mails/thread-store.ts';
import { mayAnswer } from './loop-limit.ts';
import type { MailKey } from './mail-key.ts';
import { makeMessageId } from './message-ids.ts';
import { recordOutcome } from './outcome.ts';
import { insertDue } from './outgoing-store.ts';
import { type ReplyFacts, readReplyFacts } from './reply-store.ts';
import { replySubject, threadSubject } from './subject.ts';

export interface OutgoingOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly key: MailKey;
  /** If false, the mail stays until some node has an SMTP server. */
  readonly hasTransport: boolean;
  /** Called once a mail is due. */
  readonly onDue: (mailId: string) => void | Promise<void>;
}

/**
 * Handles EMAIL_DUE: makes the mail of a message, which is then due. Decides the recipients,
 * subject and place in the thread once; each try reads the text. May be called again for the same
 * message.
 */
export async function makeReply(options: OutgoingOptions, due: EmailDue): Promise<void> {
  const { database, onDue } = options;
  const mailId = await database.transaction((tx) => insertMail(tx, options, due));
  if (mailId !== undefined) await onDue(mailId);
}

/** Returns the id of the mail if it is new and may be sent. */
async function insertMail(
  tx: Tx,
  { key, hasTransport, log }: OutgoingOptions,
  { message_id, by, traceparent }: EmailDue,
): Promise<string | undefined> {
  const facts = await readReplyFacts(tx, message_id, by);
  if (facts === undefined) return undefined;
  const id = derivedId('mail', message_id);
  const { conversation_id: conversationId, address } = facts;
  const recipients = recipientsOf(facts);
  const refusal = await refusalOf(tx, facts, recipients);
  const isNew = await insertDue(tx, [
    {
      id,
      account_id: facts.account_id,
      inbox_id: facts.inbox_id,
      direction: 'out',
      purpose: 'reply',
      conversation_id: conversationId,
      message_id,
      rfc_id: makeMessageId(key, { conversationId, mailId: id }, domainOf(address)),
      status: 'queued',
      reason: hasTransport ? null : 'no_transport',
      automatic: facts.by_machine,
      from_address: address,
      from_name: facts.persona ?? facts.inbox_name,
      recipients: JSON.stringify(recipients),
      subject: replySubject(facts),
      in_reply_to: facts.answers,
      thread_ids: [...facts.thread_ids],
      trace: traceparent ?? null,
    },
  ]);
  if (!isNew) return undefined;
  await updateThread(tx, conversationId, {
    last_out_id: id,
    subject: threadSubject(facts),
    ...(!facts.by_machine && {
      cc: recipients.filter(({ kind }) => kind === 'cc').map((one) => one.address),
    }),
  });
  if (refusal === undefined) return id;
  if (refusal === 'loop_limit') {
    const { inbox_id } = facts;
    log.warn(
      { mail_id: id, inbox_id, conversation_id: conversationId },
      'an agent and a machine answer each other',
    );
  }
  await recordOutcome(tx, { mailId: id, status: 'failed', reason: refusal });
  return undefined;
}

/** Returns a code for why the mail cannot be sent, or undefined if it can. */
async function refusalOf(
  tx: Tx,
  facts: ReplyFacts,
  recipients: readonly EmailRecipient[],
): Promise<string | undefined> {
  if (facts.inbox_removed) return 'inbox_removed';
  if (!recipients.some(({ kind }) => kind === 'to')) return 'no_recipient';
  const addresses = recipients.map(({ address }) => address);
  if (facts.by_machine && facts.unproven) return 'unproven';
  return facts.by_machine && !(await mayAnswer(tx, facts, addresses)) ? 'loop_limit' : undefined;
}

/**
 * Returns the recipients: the address that the customer's last mail names for answers, else the
 * customers of the case. A machine writes to the sender alone. Copies go to the addresses that the
 * message names or, for a person's message, else to those of the last mail: machines write to no
 * address that a stranger names. An inbox does not write to itself, but to any other: no reply
 * shows whether an address is one of this installation.
 */
export function recipientsOf(facts: ReplyFacts): EmailRecipient[] {
  const { last_sender, last_reply_to, by_machine: byMachine } = facts;
  const last = byMachine ? last_sender : (last_reply_to ?? last_sender);
  const to = last === null ? facts.customers : [last];
  const cc = facts.cc ?? (byMachine ? [] : facts.thread_cc);
  const wanted = [
    ...to.map((address) => ({ address: address.toLowerCase(), kind: 'to' as const })),
    ...cc.map((address) => ({ address: address.toLowerCase(), kind: 'cc' as const })),
  ];
  const seen = new Set<string>();
  return wanted.flatMap(({ address, kind }) => {
    if (seen.has(address) || withoutTag(address) === facts.address.toLowerCase() || !SENDABLE.test(address))
      return [];
    seen.add(address);
    return [{ address, kind, status: 'queued', code: null }];
  });
}

/** Addresses safe in envelopes and headers: no schema has checked those of incoming mails. */
const SENDABLE = /^[^\s\p{Cc}<>()[\],;:\\"@]+@[^\s\p{Cc}<>()[\],;:\\"@]+$/u;
