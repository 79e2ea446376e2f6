import { Readable } from 'node:stream';
import { oneLine } from '@parley/protocol/schema/one-line.ts';
import type { SendMailOptions } from 'nodemailer';
import type { MailText } from '../../../core/features/mails.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { MailRow } from '../mails/mail-store.ts';

/** The parts of a mail that a try writes; the rest is in its row. */
export interface MailContent extends MailText {
  /** The address for bounces. */
  readonly sender: string;
  /**
   * Whether no mail or message caused it, but the passing of time (RFC 3834). Default: by its
   * purpose.
   */
  readonly isGenerated?: boolean;
  readonly attachments: readonly {
    readonly filename: string;
    readonly contentType: string;
    /** Opens the file when sending reaches it: a connection would not wait for a slow server. */
    readonly bytes: AsyncIterable<Buffer>;
  }[];
}

/**
 * A complete mail at the time of a try, or the reason why it is not sent now: `canceled` mail will
 * not be sent, `deferred` mail may be sent later.
 */
export type WrittenMail = (
  | MailContent
  | { readonly unsent: 'canceled' | 'deferred'; readonly reason: string }
) & {
  /** Called in the transaction that ends the mail. */
  readonly onEnd?: (tx: Tx) => Promise<void>;
};

/** Writes a mail from stored data, at each try. */
export type MailWriter = (mail: MailRow) => Promise<WrittenMail>;

/**
 * Returns a mail for nodemailer, which folds and encodes its headers. It names the account and the
 * persona, but not the author, the message or this server. `recipients` are the recipients of this
 * try, without those that have the mail.
 */
export function composeMail(
  mail: MailRow,
  { sender, subject, text, html, attachments, isGenerated = mail.purpose !== 'reply' }: MailContent,
  recipients: readonly string[],
): SendMailOptions {
  const named = (kind: 'to' | 'cc') => addressesOf(mail, kind).map((address) => ({ name: '', address }));
  // Marks mail that a machine wrote (RFC 3834), so that no other machine answers it.
  const submitted = isGenerated ? 'auto-generated' : 'auto-replied';
  return {
    envelope: { from: sender, to: [...recipients] },
    from: { name: oneLine(mail.from_name ?? ''), address: mail.from_address! },
    to: named('to'),
    cc: named('cc'),
    subject: oneLine(subject),
    messageId: `<${mail.rfc_id}>`,
    date: new Date(mail.created_at),
    ...(mail.in_reply_to !== null && { inReplyTo: `<${mail.in_reply_to}>` }),
    ...(mail.thread_ids.length > 0 && { references: mail.thread_ids.map((id) => `<${id}>`) }),
    headers: mail.automatic ? { 'Auto-Submitted': submitted, 'X-Auto-Response-Suppress': 'All' } : {},
    text,
    html,
    attachments: attachments.map(({ filename, contentType, bytes }) => ({
      filename,
      contentType: mailType(contentType),
      contentDisposition: 'attachment',
      content: Readable.from(bytes),
    })),
    xMailer: false,
  };
}

export function addressesOf({ recipients }: MailRow, kind: 'to' | 'cc'): string[] {
  return recipients.filter((one) => one.kind === kind).map(({ address }) => address);
}

/** Returns the type, or bytes for types that mail programs would take for a part of the mail. */
function mailType(contentType: string): string {
  const essence = contentType.split(';')[0]!.trim().toLowerCase();
  return /^(?:application|audio|font|image|model|text|video)\/[\w.+-]{1,100}$/.test(essence)
    ? essence
    : 'application/octet-stream';
}
