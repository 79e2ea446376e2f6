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
import { noteBounce, noteUnread } from './bounces.ts';
import { noteComplaint } from './complaints.ts';
import {
  type IncomingChange,
  isAddressBlocked,
  isOnePerson,
  isOwnMail,
  readSenders,
  readUserIdByAddress,
  type SenderInCase,
} from './incoming-store.ts';
import { findCases } from './match.ts';
import { type NamedPerson, namedPerson } from './named-person.ts';
import { openCase } from './open-case.ts';
import { cutTo, storable } from './storable.ts';
import { findUnproven, proveSender, unprovenSuffix } from './unproven.ts';

/** A decision about a mail. A `received` mail has a case and an author, but no message yet. */
export type Fate = IncomingChange;

/** The facts of a mail beside its content. */
interface Judged {
  readonly verdict: EmailVerdict;
  /** Whether another mail of the sender has its Message-ID: it is automatic then. */
  readonly isSecond: boolean;
}

/** Decides the fate of a new mail (docs/contract.md#what-becomes-of-a-mail); may open a case. */
export async function decideFate(
  tx: Tx,
  key: MailKey,
  arrival: Arrival,
  { verdict, isSecond }: Judged,
): Promise<Fate> {
  const report =
    (await noteComplaint(tx, key, arrival, verdict)) ?? (await noteBounce(tx, key, arrival, verdict));
  if (report !== undefined) return report;
  const fate = await fateOf(tx, key, arrival, { verdict, isSecond });
  const isDropped = fate.status === 'ignored' && fate.purpose === 'automatic' && fate.reason !== 'own_mail';
  const shown = isDropped ? await noteUnread(tx, key, arrival) : undefined;
  return shown === undefined ? fate : { ...shown, reason: fate.reason };
}

/** Decides the fate of a mail that is no report. */
async function fateOf(tx: Tx, key: MailKey, arrival: Arrival, { verdict, isSecond }: Judged): Promise<Fate> {
  const { inbox, envelope, mail } = arrival;
  if (await isReturned(tx, key, arrival)) return ignored('own_mail', 'automatic');
  const address = senderOf(arrival);
  const { account_id: accountId } = inbox;
  const person = await personOf(tx, arrival, address);
  const isForged = verdict.result === 'fail';
  const sign = automaticSign(mail, envelope);
  const isOfMachine = sign !== undefined && IS_OF_MACHINE[sign];
  const why = sign ?? (isSecond ? 'same_id' : null);
  const marked = { automatic: why !== null, reason: why };
  const { cases, sealed } = await findCases(tx, key, arrival);
  const senders = address === undefined || cases.length === 0 ? [] : await readSenders(tx, cases, address);
  const userId = address && (await readUserIdByAddress(tx, accountId, address));
  if (userId !== undefined && !isOfMachine) {
    const note = isForged ? undefined : noteOf(userId, cases, senders);
    if (note !== undefined) return note;
    if (person === undefined) return ignored(isForged ? 'unverified' : 'team_member', 'note');
  }
  // Also ignores mail that falsely claims to be from a blocked customer: it would open a case.
  const addresses = [address ?? [], person?.address ?? []].flat();
  if (await isAddressBlocked(tx, accountId, addresses)) return ignored('blocked');
  const customer = isForged ? undefined : firstOf(cases, senders, 'customer');
  const claimed = customer === undefined && !isForged ? (address ?? null) : null;
  if (isOfMachine) {
    const away = customer ?? (claimed === null ? undefined : await findUnproven(tx, cases, claimed, null));
    return away === undefined
      ? ignored(sign, 'automatic')
      : { ...entering(away), ...marked, purpose: 'automatic' };
  }
  const author =
    customer ?? (claimed === null ? undefined : await proveSender(tx, sealed, accountId, claimed));
  if (author !== undefined) return { ...entering(author), ...marked, purpose: 'message' };
  if (person !== undefined) {
    if (isForged) return forgedCase(tx, arrival, person, marked);
    const fate = { ...marked, purpose: 'message', reason: 'unproven', reply_to: person.address } as const;
    const known = await findUnproven(tx, cases, person.address, address ?? null);
    return known === undefined ? unprovenCase(tx, arrival, person, fate) : { ...entering(known), ...fate };
  }
  const shown = address ?? unreadableSender(arrival);
  if (shown === undefined) return ignored('no_sender');
  const sender = { address: shown, name: mail.from?.name ?? '' };
  // A form that sends as the inbox, or a mail of the inbox that came back under another id.
  const isOwn = isOfInbox(arrival, shown);
  if (address === undefined || isForged || isOwn)
    return forgedCase(tx, arrival, sender, { ...marked, automatic: marked.automatic || isOwn });
  return newCase(tx, arrival, await customerOf(tx, accountId, sender), marked);
}

/** Returns the person that the mail names beside its sender, unless both are known to be one. */
async function personOf(
  tx: Tx,
  arrival: Arrival,
  from: string | undefined,
): Promise<NamedPerson | undefined> {
  const person = namedPerson(arrival, from);
  if (person?.header !== 'Reply-To' || from === undefined) return person;
  const { account_id: accountId } = arrival.inbox;
  const isOne = await isOnePerson(tx, accountId, { from, replyTo: person.address });
  return isOne ? undefined : person;
}

/** Whether a mail is automatic, and why it has its status. */
type Marked = Required<Pick<Fate, 'automatic' | 'reason'>> & Pick<Fate, 'reply_to'>;

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

/** The sender of a mail, as the mail shows it. */
type ShownSender = Pick<NamedPerson, 'address' | 'name'>;

/**
 * Opens a case for a possibly forged sender. No answer reaches the address that the mail claims.
 */
function forgedCase(tx: Tx, arrival: Arrival, sender: ShownSender, marked: Marked): Promise<Fate> {
  const note = `The sender of this mail is not proven. It claims to be ${sender.address}. Replies leave by mail once a customer with an address is added.`;
  const fate = { ...marked, reason: 'unverified' };
  return caseWithoutAddress(tx, arrival, { sender, suffix: ' (unverified)', note, fate });
}

/** Opens a case for a person that `Reply-To` or the like names alone: a person may answer it. */
function unprovenCase(tx: Tx, arrival: Arrival, person: NamedPerson, fate: Marked): Promise<Fate> {
  const { address, header } = person;
  const note = `Only the header ${header} of this mail names ${address}, so the sender is not proven. Replies of the team leave to this address, those of agents do not. An answer that comes from it proves it.`;
  return caseWithoutAddress(tx, arrival, { sender: person, suffix: unprovenSuffix(person), note, fate });
}

interface CaseWithoutAddress {
  readonly sender: ShownSender;
  /** The end of the customer's name. */
  readonly suffix: string;
  /** An internal message of the service. */
  readonly note: string;
  readonly fate: Marked;
}

/**
 * Opens a case for a sender without proof: a new customer without an address, who has only this
 * case.
 */
async function caseWithoutAddress(
  tx: Tx,
  arrival: Arrival,
  { sender, suffix, note, fate: marked }: CaseWithoutAddress,
): Promise<Fate> {
  const { account_id: accountId } = arrival.inbox;
  const name = `${cutTo(nameOf(sender), TITLE_CHARACTERS - suffix.length)}${suffix}`;
  const customer = await createCustomer(tx, { accountId, name });
  const fate = await newCase(tx, arrival, customer.id, marked);
  await enqueueSystemEvent(tx, {
    account_id: accountId,
    conversation_id: fate.conversation_id!,
    visibility: 'internal',
    body: note,
  });
  return fate;
}

async function customerOf(tx: Tx, accountId: string, sender: ShownSender): Promise<string> {
  const { address: email } = sender;
  const known = await findCustomer(tx, { accountId, email });
  if (known !== undefined) return known;
  return (await createCustomer(tx, { accountId, name: cutTo(nameOf(sender), TITLE_CHARACTERS), email })).id;
}

/** Returns the name, or the address for a name that could pass for another sender's address. */
function nameOf({ address, name: given }: ShownSender): string {
  const name = storable(given).trim();
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
 * Returns the note of a team member who answers by mail in one of their cases, if it does. It never
 * becomes a message as or to a customer, which would reveal the person behind the group.
 */
function noteOf(
  userId: string,
  cases: readonly string[],
  senders: readonly SenderInCase[],
): Fate | undefined {
  const own = senders.filter(({ actor_id, role }) => actor_id === userId && role !== 'viewer');
  const member = firstOf(cases, own, 'user');
  return member && { ...entering(member), purpose: 'note' };
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
