import type { DeliveryReport } from '@parley/mail-reader/parsed-mail.ts';
import type { EmailRecipient, EmailVerdict } from '@parley/protocol/resources/email.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { MailKey } from '../outgoing/mail-key.ts';
import { readMessageId } from '../outgoing/message-ids.ts';
import { recordOutcome } from '../outgoing/outcome.ts';
import { lockOutgoing } from '../outgoing/outgoing-store.ts';
import type { Arrival } from '../transports/intake.ts';
import { countDelays, findReturned, type IncomingChange, type ReturnedMail } from './incoming-store.ts';
import { bouncedMail } from './match.ts';
import { storable } from './storable.ts';

/** A mail that is reported as delayed this often counts as returned. */
const MAX_DELAYS = 3;

/**
 * Changes the outcome of the mail that a report is about (docs/contract.md#bounces). Returns
 * undefined if the mail is no report, or one in words alone that nothing else confirms, which a
 * person may have written. The signed address of the report identifies the mail, or else the
 * Message-ID that it returns, because some servers answer to another address. Every recipient in
 * copy knows the Message-ID, so such a report must not be forged, and must name a recipient exactly
 * as the mail did. A report about no mail of the inbox changes nothing; one at the signed address
 * that concerns no recipient is shown in the case.
 */
export async function noteBounce(
  tx: Tx,
  key: MailKey,
  { inbox, envelope, mail }: Pick<Arrival, 'inbox' | 'envelope' | 'mail'>,
  verdict: EmailVerdict,
): Promise<IncomingChange | undefined> {
  const { report } = mail;
  if (report === null) return undefined;
  // Old versions of Exchange send a plain answer and return nothing.
  const original = storable(report.originalRfcId ?? mail.inReplyTo ?? '');
  const bounced = bouncedMail(key, { envelope, mail });
  const mailId = bounced ?? readMessageId(key, original)?.mailId;
  const returned = await findReturned(tx, inbox, { mailId: mailId ?? null, rfcId: original });
  const isFormal = report.evidence === 'form';
  const uncounted = (reason: string) => (isFormal ? { ...IGNORED, reason } : undefined);
  if (returned === undefined) return uncounted('unknown_bounce');
  const isSigned = returned.id === bounced;
  if (!isSigned && (verdict.result === 'fail' || !(isFormal || hasEmptySender(envelope, mail))))
    return uncounted('unverified');
  const reason = await record(tx, returned, { ...report, isSigned, from: mail.from?.address ?? '' });
  const { conversation_id, rfc_id } = returned;
  const fate = { ...NOTED, conversation_id, in_reply_to: rfc_id };
  if (reason === 'unnamed') return isSigned ? undefined : uncounted('unknown_recipient');
  return reason === undefined ? { ...fate, ...IGNORED, reason: 'unknown_recipient' } : { ...fate, reason };
}

/**
 * Returns the fate of a mail of a machine at the return path of one of our mails that no other rule
 * understands: an internal message in the case of that mail, without an author, so that a person
 * reads it. Returns undefined if the mail went elsewhere.
 */
export async function noteUnread(
  tx: Tx,
  key: MailKey,
  { inbox, envelope, mail }: Pick<Arrival, 'inbox' | 'envelope' | 'mail'>,
): Promise<IncomingChange | undefined> {
  const mailId = bouncedMail(key, { envelope, mail });
  if (mailId === undefined) return undefined;
  const about = await findReturned(tx, inbox, { mailId, rfcId: '' });
  if (about === undefined || about.conversation_id === null) return undefined;
  const { conversation_id, rfc_id } = about;
  return { purpose: 'automatic', automatic: true, conversation_id, actor_id: null, in_reply_to: rfc_id };
}

/** Returns whether the mail must not be answered, as only servers send. */
function hasEmptySender({ sender }: Arrival['envelope'], { headers }: Arrival['mail']): boolean {
  return (
    sender === '' || headers.some(({ name, value }) => name === 'return-path' && /^<?\s*>?$/.test(value))
  );
}

const NOTED = { status: 'accepted', purpose: 'bounce', automatic: true } as const;
const IGNORED = { ...NOTED, status: 'ignored' } as const;

type Reported = 'returned' | 'delayed' | 'delivered';

interface Evidence extends DeliveryReport {
  /** Whether it went to the signed address of the mail. */
  readonly isSigned: boolean;
  /** The address of the sender. */
  readonly from: string;
}

/**
 * Returns the report on the mail, `unnamed` if it concerns none of its recipients, or undefined if
 * it changes nothing.
 */
async function record(
  tx: Tx,
  { id, ms_left }: ReturnedMail,
  report: Evidence,
): Promise<Reported | 'unnamed' | undefined> {
  const mail = await lockOutgoing(tx, id);
  if (mail === undefined) return undefined;
  const concerned = concernedBy(mail.recipients, report);
  if (concerned.length === 0) return 'unnamed';
  const isOverdue = (await countDelays(tx, id)) + 1 >= MAX_DELAYS;
  const changes = new Map<string, EmailRecipient & { readonly reported: Reported }>();
  for (const { recipient, action, status: code } of concerned) {
    if (ENDED.has(recipient.status)) continue;
    const reported = REPORTED[action];
    const status =
      reported === 'delivered' ? 'sent' : reported === 'returned' || isOverdue ? 'bounced' : 'deferred';
    if (reported === 'delivered' && recipient.status !== 'deferred') continue;
    changes.set(recipient.address, { ...recipient, status, code, reported });
  }
  const recipients = [...changes.values()];
  if (recipients.length === 0) return undefined;
  const after = mail.recipients.map((one) => changes.get(one.address) ?? one);
  // If this server still tries a recipient itself, its own tries continue.
  const isOpen = after.some(({ status }) => status === 'queued' || status === 'deferred');
  const reason = ORDER.find((one) => recipients.some(({ reported }) => reported === one));
  const shown = reason === 'delivered' ? null : reason!;
  await recordOutcome(tx, { mailId: id, recipients, reason: shown, nextTryMs: isOpen ? ms_left : null });
  return reason;
}

const ORDER = ['returned', 'delayed', 'delivered'] as const;

/** A server that reports `failed` has given up, whatever class the status has (RFC 3464, 2.3.3). */
const REPORTED = {
  failed: 'returned',
  delayed: 'delayed',
  delivered: 'delivered',
  relayed: 'delivered',
  expanded: 'delivered',
} as const satisfies Record<DeliveryReport['recipients'][number]['action'], Reported>;

const ENDED: ReadonlySet<EmailRecipient['status']> = new Set(['bounced', 'failed']);

/**
 * Returns the recipients that a report concerns, with what it says of each. A forwarding server
 * reports unknown addresses, and some reports name none: at the signed address of a mail with one
 * recipient they must mean ours, if they say the same of each. Words alone must name a recipient,
 * and none of the recipients may have written them: absence notes talk about mail too.
 */
function concernedBy(
  recipients: readonly EmailRecipient[],
  { recipients: reported, evidence, isSigned, from }: Evidence,
) {
  const find = (address: string | null) =>
    recipients.find((one) => one.address.toLowerCase() === address?.toLowerCase());
  if (evidence !== 'form' && find(from) !== undefined) return [];
  const named = reported.flatMap(({ address, ...said }) => {
    const recipient = find(address);
    return recipient === undefined ? [] : { recipient, ...said };
  });
  const isOne = recipients.length === 1 && new Set(reported.map(({ action }) => action)).size === 1;
  if (named.length > 0 || !isSigned || !isOne || evidence === 'words') return named;
  const { action, status } = reported[0]!;
  return [{ recipient: recipients[0]!, action, status }];
}
