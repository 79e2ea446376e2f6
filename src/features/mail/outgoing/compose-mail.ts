import { Readable } from 'node:stream';
import type { SendMailOptions } from 'nodemailer';
import { oneLine } from '../../../core/resources/plain-text.ts';

/** The content of a mail. */
export interface MailContent {
  /** Without brackets. */
  readonly rfcId: string;
  /** ISO 8601. */
  readonly date: string;
  readonly from: { readonly name: string | null; readonly address: string };
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  /** Without brackets. */
  readonly inReplyTo: string | null;
  /** Without brackets, oldest first. */
  readonly references: readonly string[];
  /**
   * Marks mail that a machine wrote (RFC 3834), so that no other machine answers it; null for a
   * person's.
   */
  readonly autoSubmitted: 'auto-replied' | 'auto-generated' | null;
  readonly text: string;
  readonly html: string;
  readonly attachments: readonly MailAttachment[];
}

export interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  /** Called when sending reaches this file. */
  readonly read: () => AsyncIterable<Buffer>;
}

/** `recipients` are those of this try, without those that have the mail. Bounces go to `sender`. */
export interface MailEnvelope {
  readonly sender: string;
  readonly recipients: readonly string[];
}

/**
 * Returns a mail for nodemailer, which folds and encodes its headers. It names the account and the
 * persona, but not the author, the message or this server.
 */
export function composeMail(content: MailContent, { sender, recipients }: MailEnvelope): SendMailOptions {
  const { from, autoSubmitted } = content;
  return {
    envelope: { from: sender, to: [...recipients] },
    from: { name: oneLine(from.name ?? ''), address: from.address },
    to: content.to.map((address) => ({ name: '', address })),
    cc: content.cc.map((address) => ({ name: '', address })),
    subject: oneLine(content.subject),
    messageId: `<${content.rfcId}>`,
    date: new Date(content.date),
    ...(content.inReplyTo !== null && { inReplyTo: `<${content.inReplyTo}>` }),
    ...(content.references.length > 0 && { references: content.references.map((id) => `<${id}>`) }),
    headers:
      autoSubmitted === null ? {} : { 'Auto-Submitted': autoSubmitted, 'X-Auto-Response-Suppress': 'All' },
    text: content.text,
    html: content.html,
    attachments: content.attachments.map(({ filename, contentType, read }) => ({
      filename,
      contentType: mailType(contentType),
      contentDisposition: 'attachment',
      content: Readable.from(pieces(read)),
    })),
    xMailer: false,
  };
}

/**
 * Opens a file on the first read, because a connection to the store would not wait for a slow
 * server.
 */
async function* pieces(read: () => AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield* read();
}

/** Types that mail programs would take for a part of the mail are sent as bytes. */
function mailType(contentType: string): string {
  const essence = contentType.split(';')[0]!.trim().toLowerCase();
  return /^(?:application|audio|font|image|model|text|video)\/[\w.+-]{1,100}$/.test(essence)
    ? essence
    : 'application/octet-stream';
}
