import type { EmailVerdict } from '@parley/protocol/resources/email.ts';
import { createCustomer, findCustomer } from '../../../core/accounts/actors/actors.ts';
import { enqueueSystemEvent } from '../../../core/conversations/outbox-topics.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { withoutTag } from '../mailboxes/mailbox-address.ts';
import type { MailKey } from '../outgoing/mail-key.ts';
import { readMessageId } from '../outgoing/message-ids.ts';
import type { Arrival } from '../transports/intake.ts';
import { ADDRESS } from '../transports/recipients.ts';
import { automaticSign, IS_OF_MACHINE } from './automatic.ts';
import { noteBounce } from './bounces.ts';
import {
  type IncomingChange,
  isAddressBlocked,
  isOwnMail,
  readSenders,
  readUserIdByAddress,
  type SenderInCase,
} from './incoming-store.ts';
import { findCases } from './match.ts';
import { openCase } from './open-case.ts';
import { cutTo, storable } from './storable.ts';

/** A decision about a mail. A `received` mail has a case and an author, but no message yet. */
export type Fate = IncomingChange;

/** Decides the fate of a new mail (docs/contract.md#what-becomes-of-a-mail); may open a case. */
export async function decideFate(
  tx: Tx,
  key: MailKey,
  arrival: Arrival,
  verdict: EmailVerdict,
): Promise<Fate> {
  const { inbox, envelope, mail } = arrival;
  const bounce = await noteBounce(tx, key, arrival, verdict);
  if (bounce !== undefined) return bounce;
  const address = senderOf(arrival);
  if (await isReturned(tx, key, arrival)) return ignored('own_mail', 'automatic');
  const sign = automaticSign(mail, envelope);
  const isOfMachine = sign !== undefined && IS_OF_MACHINE[sign];
  const marked = { automatic: sign !== undefined, reason: sign ?? null };
  if (address === undefined) {
    const shown = unreadableSender(arrival);
    if (isOfMachine || shown === undefined) return ignored(sign ?? 'no_sender', sign && 'automatic');
    return forgedCase(tx, arrival, shown, marked);
  }
  const cases = await findCases(tx, key, arrival);
  const senders = cases.length === 0 ? [] : await readSenders(tx, cases, address);
  const isForged = verdict.result === 'fail';
  const userId = await readUserIdByAddress(tx, inbox.account_id, address);
  if (userId !== undefined) {
    if (isOfMachine) return ignored(sign, 'automatic');
    return isForged ? ignored('unverified', 'note') : noteOf(userId, cases, senders);
  }
  // Also ignores mail that falsely claims to be from a blocked customer: it would open a case.
  if (await isAddressBlocked(tx, inbox.account_id, address)) return ignored('blocked');
  const customer = isForged ? undefined : firstOf(cases, senders, 'customer');
  if (isOfMachine) {
    return customer === undefined
      ? ignored(sign, 'automatic')
      : { ...entering(customer), ...marked, purpose: 'automatic' };
  }
  if (customer !== undefined) return { ...entering(customer), ...marked, purpose: 'message' };
  // A form that sends as the inbox, or a mail of the inbox that came back under another id.
  if (isOfInbox(arrival, address)) return forgedCase(tx, arrival, address, { ...marked, automatic: true });
  return isForged
    ? forgedCase(tx, arrival, address, marked)
    : newCase(tx, arrival, await customerOf(tx, arrival, address), marked);
}

/** Whether a mail is automatic, and the sign of it. */
type Marked = Required<Pick<Fate, 'automatic' | 'reason'>>;

/** Returns the fate of a mail whose customer has no open case that it answers. */
export async function newCase(
  tx: Tx,
  { inbox, mail }: Arrival,
  customerId: string,
  marked: Marked,
): Promise<Fate> {
  const title = cutTo(storable(mail.subject ?? '').trim(), TITLE_CHARACTERS).trim() || null;
  const isQuiet = marked.automatic === true;
  const conversation_id = await openCase(tx, inbox, { customerId, title, isQuiet });
  return { ...marked, purpose: 'message', conversation_id, actor_id: customerId };
}

/** The maximum length of titles and names (packages/protocol/schema/schema.ts). */
const TITLE_CHARACTERS = 200;

/**
 * Opens a case for an unproven sender: a new customer without an address, who has only this case.
 * So no answer reaches the address that the mail claims.
 */
async function forgedCase(tx: Tx, arrival: Arrival, address: string, marked: Marked): Promise<Fate> {
  const { account_id: accountId } = arrival.inbox;
  const name = `${cutTo(nameOf(arrival, address), TITLE_CHARACTERS - UNVERIFIED.length)}${UNVERIFIED}`;
  const customer = await createCustomer(tx, { accountId, name });
  const fate = await newCase(tx, arrival, customer.id, { ...marked, reason: 'unverified' });
  await enqueueSystemEvent(tx, {
    account_id: accountId,
    conversation_id: fate.conversation_id!,
    visibility: 'internal',
    body: `The sender of this mail is not proven. It claims to be ${address}. Replies leave by mail once a customer with an address is added.`,
  });
  return fate;
}

const UNVERIFIED = ' (unverified)';

async function customerOf(tx: Tx, arrival: Arrival, email: string): Promise<string> {
  const { account_id: accountId } = arrival.inbox;
  const known = await findCustomer(tx, { accountId, email });
  if (known !== undefined) return known;
  const name = cutTo(nameOf(arrival, email), TITLE_CHARACTERS);
  return (await createCustomer(tx, { accountId, name, email })).id;
}

/** Returns the name, or the address for a name that could pass for another sender's address. */
function nameOf({ mail }: Arrival, address: string): string {
  const name = storable(mail.from?.name ?? '').trim();
  return name === '' || name.includes('@') ? address : name;
}

/** Returns the address of `From`, or of the envelope if the mail has none. */
function senderOf({ envelope, mail }: Arrival): string | undefined {
  const address = storable(mail.from?.address ?? envelope.sender ?? '').toLowerCase();
  return ADDRESS.test(address) ? address : undefined;
}

/** Returns the text of a `From` with an unreadable address: a person may have written the mail. */
function unreadableSender({ mail }: Arrival): string | undefined {
  const shown = mail.headers.find(({ name }) => name === 'from')?.value ?? '';
  return /[\p{L}\p{N}]@[\p{L}\p{N}]/u.test(shown)
    ? cutTo(storable(shown).trim(), TITLE_CHARACTERS)
    : undefined;
}

/**
 * Returns whether the mail is one of the inbox that came back. One of another inbox of this server
 * is a mail like any other.
 */
async function isReturned(tx: Tx, key: MailKey, { inbox, mail }: Arrival): Promise<boolean> {
  const { rfcId } = mail;
  return rfcId !== null && isOwnMail(tx, inbox, storable(rfcId), readMessageId(key, rfcId));
}

/** Returns whether an address, in lower case, is that of the inbox. */
function isOfInbox({ inbox }: Arrival, address: string): boolean {
  const own = inbox.address.toLowerCase();
  return address === own || withoutTag(address) === own;
}

/**
 * Returns the note of a team member who answers by mail in one of their cases. It never becomes a
 * message as or to a customer, which would reveal the person behind the group.
 */
function noteOf(userId: string, cases: readonly string[], senders: readonly SenderInCase[]): Fate {
  const own = senders.filter(({ actor_id, role }) => actor_id === userId && role !== 'viewer');
  const member = firstOf(cases, own, 'user');
  return member === undefined ? ignored('team_member', 'note') : { ...entering(member), purpose: 'note' };
}

/** Returns the sender from the first of the cases that has one. */
function firstOf(
  cases: readonly string[],
  senders: readonly SenderInCase[],
  type: SenderInCase['type'],
): SenderInCase | undefined {
  const fitting = senders.filter((sender) => sender.type === type);
  const first = cases.find((id) => fitting.some(({ conversation_id }) => conversation_id === id));
  return fitting.find(({ conversation_id }) => conversation_id === first);
}

function entering({ conversation_id, actor_id }: SenderInCase): Fate {
  return { conversation_id, actor_id };
}

function ignored(reason: string, purpose: Fate['purpose'] = 'message'): Fate {
  return { status: 'ignored', purpose, reason, automatic: purpose === 'automatic' };
}
