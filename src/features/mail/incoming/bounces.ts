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
 * undefined if the mail is no report. The signed address of the report identifies the mail, or else
 * the Message-ID that it returns, because some servers answer to another address. Every recipient
 * in copy knows the Message-ID, so such a report must not be forged, and must name a recipient
 * exactly as the mail did. A report about no mail of the inbox changes nothing.
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
  if (returned === undefined) return { ...IGNORED, reason: 'unknown_bounce' };
  const isSigned = returned.id === bounced;
  if (!isSigned && verdict.result === 'fail') return { ...IGNORED, reason: 'unverified' };
  const reason = await record(tx, returned, report, isSigned);
  const { conversation_id, rfc_id } = returned;
  const fate = { ...NOTED, conversation_id, in_reply_to: rfc_id };
  return reason === undefined ? { ...fate, ...IGNORED, reason: 'unknown_recipient' } : { ...fate, reason };
}

const NOTED = { status: 'accepted', purpose: 'bounce', automatic: true } as const;
const IGNORED = { ...NOTED, status: 'ignored' } as const;

type Reported = 'returned' | 'delayed' | 'delivered';

/** Returns the report on the mail, or undefined if it concerns none of its recipients. */
async function record(
  tx: Tx,
  { id, ms_left }: ReturnedMail,
  report: DeliveryReport,
  isSigned: boolean,
): Promise<Reported | undefined> {
  const mail = await lockOutgoing(tx, id);
  if (mail === undefined) return undefined;
  const isOverdue = (await countDelays(tx, id)) + 1 >= MAX_DELAYS;
  const changes = new Map<string, EmailRecipient & { readonly reported: Reported }>();
  for (const { address, action, status: code } of report.recipients) {
    const isSole = isSigned && report.recipients.length === 1;
    const recipient = recipientOf(mail.recipients, address, isSole);
    if (recipient === undefined || ENDED.has(recipient.status)) continue;
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
 * Returns the reported recipient. A forwarding server reports an unknown address: with one
 * recipient and one address, it must mean ours.
 */
function recipientOf(
  recipients: readonly EmailRecipient[],
  address: string,
  isSole: boolean,
): EmailRecipient | undefined {
  const known = recipients.find((one) => one.address.toLowerCase() === address.toLowerCase());
  return known ?? (isSole && recipients.length === 1 ? recipients[0] : undefined);
}
