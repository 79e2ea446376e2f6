import type { Complaint } from '@parley/mail-reader/parsed-mail.ts';
import type { EmailRecipient, EmailVerdict } from '@parley/protocol/resources/email.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { addComplaint } from '../complaints/complaint-store.ts';
import type { MailKey } from '../outgoing/mail-key.ts';
import { readMessageId } from '../outgoing/message-ids.ts';
import { lockOutgoing } from '../outgoing/outgoing-store.ts';
import type { Arrival } from '../transports/intake.ts';
import type { IncomingChange } from './incoming-store.ts';
import { bouncedMail } from './match.ts';
import { storable } from './storable.ts';

/**
 * Stops mail to the recipient of the mail that a complaint is about (docs/contract.md#complaints),
 * and shows it in the case of that mail. Returns undefined if the mail is no complaint, or one that
 * does not count. The signed return path or a Message-ID of ours must name the mail: anyone could
 * write such a report about any address. It may come to another inbox of the account, since
 * services send it to one address for all mail.
 */
export async function noteComplaint(
  tx: Tx,
  key: MailKey,
  { inbox, envelope, mail }: Pick<Arrival, 'inbox' | 'envelope' | 'mail'>,
  verdict: EmailVerdict,
): Promise<IncomingChange | undefined> {
  const { complaint } = mail;
  if (complaint === null || NO_COMPLAINTS.has(complaint.kind)) return undefined;
  const signed = bouncedMail(key, { envelope, mail });
  if (signed === undefined && verdict.result === 'fail') return undefined;
  const mailId = signed ?? readMessageId(key, storable(complaint.originalRfcId ?? ''))?.mailId;
  const about = mailId === undefined ? undefined : await lockOutgoing(tx, mailId);
  if (about === undefined || about.account_id !== inbox.account_id) return undefined;
  const recipients = recipientsOf(about.recipients, complaint);
  if (recipients.length === 0) return undefined;
  const { account_id, conversation_id } = about;
  const { kind } = complaint;
  for (const { address } of recipients)
    await addComplaint(tx, { account_id, address, kind, mail_id: about.id, conversation_id });
  const fate = { purpose: 'automatic', automatic: true, reason: 'complaint', actor_id: null } as const;
  return conversation_id === null ? { ...fate, status: 'ignored' } : { ...fate, conversation_id };
}

/** Feedback of RFC 5965 and RFC 6591 that asks for no less mail. */
const NO_COMPLAINTS: ReadonlySet<string> = new Set(['not-spam', 'auth-failure']);

/**
 * Returns the only recipient, because many services hide the address, else those that are named.
 */
function recipientsOf(
  recipients: readonly EmailRecipient[],
  { addresses }: Complaint,
): readonly EmailRecipient[] {
  if (recipients.length === 1) return recipients;
  return recipients.filter(({ address }) => addresses.includes(address.toLowerCase()));
}
