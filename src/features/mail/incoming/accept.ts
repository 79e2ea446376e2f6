import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import type { EmailVerdict } from '@parley/protocol/resources/email.ts';
import { proveAddress } from '../../../core/accounts/actors/proven-address.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import { isCustomerBlocked } from '../../../core/conversations/blocks/blocks.ts';
import { followExternal } from '../../../core/messages/timeline/external-message.ts';
import type { LockedWrites, Withheld } from '../../../core/messages/timeline/locked-write.ts';
import type { CommittedMessage, Outgoing } from '../../../core/messages/timeline/outgoing.ts';
import { readActors } from '../../../core/resources/actor.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { liftComplaints } from '../complaints/complaint-store.ts';
import { type MailHead, readMailHead } from '../mails/mail-store.ts';
import { EMAIL_RECEIVED } from '../mails/outbox-topics.ts';
import { lockThread, updateThread } from '../mails/thread-store.ts';
import type { MailKey } from '../outgoing/mail-key.ts';
import { withoutPrefixes } from '../outgoing/subject.ts';
import type { Arrival } from '../transports/intake.ts';
import { isAnswer } from './answered.ts';
import { digestOf, identify, type MailIdentity, senderOf } from './copies.ts';
import { decideFate, type Fate, newCase } from './fate.ts';
import { insertIncoming, lockIncoming, writeIncoming } from './incoming-store.ts';
import { messageOf } from './mail-message.ts';
import { replyTo } from './named-person.ts';
import { storable } from './storable.ts';

export interface AcceptOptions {
  readonly database: Database;
  readonly store: Pick<ObjectStore, 'open' | 'presignDownload'>;
  readonly lockedWrites: Pick<LockedWrites, 'enter'>;
  readonly key: MailKey;
  /** Returns whether the sender is proven. */
  readonly authenticate: (arrival: Arrival) => Promise<EmailVerdict>;
}

/**
 * Decides the fate of a mail at an inbox and commits it (docs/contract.md#what-becomes-of-a-mail).
 * The mail's row comes first, with the case that it opens; the message, its event and the end of
 * the row follow in the transaction of the message. The same mail again, concurrently or after a
 * crash, finds the row by its id and continues it, so that it becomes one message. Rejects only for
 * a temporary cause: the sender then tries again.
 */
export async function acceptMail(options: AcceptOptions, arrival: Arrival): Promise<MailHead> {
  const { database, store } = options;
  const rfcId =
    storable(arrival.mail.rfcId ?? '') || `${await digestOfSource(options, arrival)}@no-message-id`;
  for (;;) {
    const identity = await identify(database, store, arrival, rfcId);
    const known = identity.isKnown ? await readMailHead(database, identity.id) : undefined;
    const row = known ?? (await receive(options, arrival, identity, rfcId));
    // Another mail of this Message-ID came first, whose text is compared next.
    if (row !== undefined) return row.status === 'received' ? enter(options, arrival, row) : row;
  }
}

/** Inserts the row of the mail with its fate. Returns undefined if a row has its id by now. */
async function receive(
  { database, key, authenticate }: AcceptOptions,
  arrival: Arrival,
  { id, isSecond }: MailIdentity,
  rfcId: string,
): Promise<MailHead | undefined> {
  const { inbox, source, mail } = arrival;
  const verdict = await authenticate(arrival);
  return database.transaction(async (tx) => {
    const isFirst = await insertIncoming(tx, {
      id,
      account_id: inbox.account_id,
      inbox_id: inbox.id,
      rfc_id: rfcId,
      from_address: senderOf(arrival),
      from_name: storable(mail.from?.name ?? '') || null,
      reply_to: replyTo(arrival)?.address ?? null,
      recipients: JSON.stringify(recipientsOf(arrival)),
      subject: storable(mail.subject ?? '') || null,
      in_reply_to: storable(mail.inReplyTo ?? '') || null,
      thread_ids: mail.references.map(storable),
      verdict: JSON.stringify(verdict),
      protection: mail.protection,
      body_text: storable(mail.text) || null,
      body_html: mail.html === null ? null : storable(mail.html),
      source_key: source.key,
      size_bytes: source.sizeBytes,
    });
    if (!isFirst) return undefined;
    const fate = await decideFate(tx, key, arrival, { verdict, isSecond });
    await proveAuthor(tx, arrival, fate, verdict);
    return writeIncoming(tx, id, fate);
  });
}

/** A mail of a customer proves its address, unless its sender is forged, unproven or a machine. */
async function proveAuthor(tx: Tx, arrival: Arrival, fate: Fate, verdict: EmailVerdict): Promise<void> {
  const { purpose, status = 'received', actor_id: customerId, automatic, reason } = fate;
  const address = senderOf(arrival)?.toLowerCase();
  if (purpose !== 'message' || status !== 'received' || automatic === true || reason === 'unproven') return;
  if (verdict.result !== 'fail' && customerId && address) await proveAddress(tx, customerId, address);
}

/** How often a case may close between the decision and the message before the sender must retry. */
const MAX_CASES = 3;

/** Advances a received mail until its message is in the timeline of its case, or it has ended. */
async function enter(options: AcceptOptions, arrival: Arrival, received: MailHead): Promise<MailHead> {
  let row = received;
  for (let closed = 0; row.status === 'received'; ) {
    const entered = await enterCase(options, arrival, row);
    if (!('kind' in entered)) row = entered;
    else if (entered.why === 'changed') row = entered.row;
    else if (entered.why === 'blocked' || closed++ < MAX_CASES)
      row = await moveOn(options, arrival, row, entered.why);
    else throw new Error('the case of a mail is closed each time that another is opened');
  }
  return row;
}

/**
 * Why no message was written: another copy of the mail advanced further, the case no longer takes
 * messages, or the team has blocked its customer in the meantime.
 */
type NotEntered = Withheld &
  ({ readonly why: 'changed'; readonly row: MailHead } | { readonly why: 'case_closed' | 'blocked' });

async function enterCase(
  options: AcceptOptions,
  arrival: Arrival,
  row: MailHead,
): Promise<MailHead | NotEntered> {
  const { database, store, lockedWrites } = options;
  const { conversation_id, actor_id: authorId } = row;
  const conversationId = conversation_id!;
  // The report of a server has no author.
  const sender = authorId === null ? null : (await readActors(database, [authorId])).get(authorId)!;
  const message = await messageOf(store, arrival, row, {
    isAnswer: authorId !== null && (await isAnswer(database, arrival, authorId)),
  });
  const entered = await lockedWrites.enter(
    conversationId,
    async (tx, conversation): Promise<Outgoing | NotEntered> => {
      const current = await lockIncoming(tx, row.id);
      if (current.status !== 'received' || current.conversation_id !== conversationId) {
        return { kind: 'withheld', why: 'changed', row: current };
      }
      if (conversation.status === 'archived' || conversation.deleted_at !== null) {
        return { kind: 'withheld', why: 'case_closed' };
      }
      if (authorId !== null && (await isCustomerBlocked(tx, authorId)))
        return { kind: 'withheld', why: 'blocked' };
      return { message, sender, audience: 'customer' };
    },
    (tx, committed) => settle(tx, arrival, row, committed),
  );
  if ('kind' in entered) return entered;
  const { row: written, followed } = entered;
  // A message with the mail's id already exists, and counts as the mail's message.
  return (
    followed ??
    database.transaction((tx) =>
      writeIncoming(tx, row.id, { status: 'accepted', reason: 'resent', message_id: written.id }),
    )
  );
}

/** Commits with the message. */
async function settle(
  tx: Tx,
  arrival: Arrival,
  mail: MailHead,
  written: CommittedMessage,
): Promise<MailHead> {
  const { purpose, id, account_id: accountId, conversation_id: conversationId, automatic, verdict } = mail;
  if (purpose === 'message') {
    await followExternal(tx, written, null, automatic ? 'automatic_mail' : 'customer_wrote');
    if (await isAnswered(tx, mail)) await updateThread(tx, conversationId!, threadOf(arrival, mail));
    // A person who writes wants an answer.
    const addresses = [senderOf(arrival)?.toLowerCase() ?? []].flat();
    if (!automatic && verdict?.result !== 'fail') await liftComplaints(tx, { accountId, addresses }, null);
    await enqueue(tx, EMAIL_RECEIVED, { mail_id: id });
  }
  return writeIncoming(tx, id, { status: 'accepted', message_id: written.row.id });
}

/**
 * Returns whether the next reply of the case answers this mail. No reply leaves for a possibly
 * forged sender until the team adds somebody it trusts. An automatic mail does not take the place
 * of what a person wrote: a list states the list as the address for answers.
 */
async function isAnswered(tx: Tx, { verdict, automatic, conversation_id }: MailHead): Promise<boolean> {
  if (verdict?.result === 'fail') return false;
  return !automatic || (await lockThread(tx, conversation_id!))?.last_in_id === null;
}

/** Returns the start of the next mail. No copy goes to addresses that an unproven sender names. */
function threadOf({ inbox, mail }: Arrival, { id, reason }: MailHead) {
  const own = new Set([inbox.address.toLowerCase(), mail.from?.address]);
  const named = reason === 'unproven' ? [] : [...mail.to, ...mail.cc];
  const others = named.map(({ address }) => storable(address));
  return {
    last_in_id: id,
    cc: [...new Set(others)].filter((address) => !own.has(address)).slice(0, MESSAGE_LIMITS.cc),
    ...(mail.subject !== null && { subject: withoutPrefixes(mail.subject) }),
  };
}

/**
 * Opens another case for a customer's mail if the case was archived or deleted since it was found.
 * Ignores all other mail, as of a customer that the team has blocked since.
 */
function moveOn(
  { database }: AcceptOptions,
  arrival: Arrival,
  { id }: MailHead,
  why: 'case_closed' | 'blocked',
): Promise<MailHead> {
  return database.transaction(async (tx) => {
    const row = await lockIncoming(tx, id);
    if (row.status !== 'received') return row;
    const fate: Fate =
      row.purpose === 'message' && why === 'case_closed'
        ? await newCase(tx, arrival, row.actor_id!, { automatic: row.automatic, reason: row.reason })
        : { status: 'ignored', reason: why };
    return writeIncoming(tx, id, fate);
  });
}

function recipientsOf({ mail }: Arrival) {
  return (['to', 'cc'] as const).flatMap((kind) => {
    const boxes = mail[kind].slice(0, MAX_SHOWN);
    return boxes.map(({ address }) => ({ address: storable(address), kind, status: null, code: null }));
  });
}

/** Recipients of each kind in the row; the source has all of them. */
const MAX_SHOWN = 100;

async function digestOfSource({ store }: AcceptOptions, { source }: Arrival): Promise<string> {
  const digest = await digestOf(store, source.key);
  if (digest === undefined) throw new Error('the source of a mail is gone');
  return digest;
}
