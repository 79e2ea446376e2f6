import { cleanLine, cutText } from './clean-text.ts';
import { cleanAddress, Header } from './header.ts';
import type { DeliveryReport } from './parsed-mail.ts';

export type ReportedRecipient = DeliveryReport['recipients'][number];

export interface ReportParts {
  /** The text for people. */
  readonly text: string;
  /** The part for machines (RFC 3464), or empty. */
  readonly status: Buffer;
  /** The returned mail, or only its header, or empty. */
  readonly returned: Buffer;
}

/** Reads a report of RFC 3464. Returns null if the mail has none. */
export function readReport(header: Header, parts: ReportParts): DeliveryReport | null {
  const recipients = recipientsOf(parts.status);
  return recipients.length === 0 ? null : { recipients, originalRfcId: originalRfcIdOf(header, parts) };
}

export function originalRfcIdOf(header: Header, { returned, text }: ReportParts): string | null {
  const [id] = returned.length === 0 ? [] : new Header(headOf(returned)).messageIds('message-id');
  if (id !== undefined) return id;
  // Old servers put the returned mail into their own text.
  const inText = /^[> \t]*Message-ID:[ \t]*\n?[ \t]*<([^<>\s]{1,900})>/im.exec(text)?.[1];
  if (inText !== undefined) return inText;
  // Others answer the mail like a person.
  return header.messageIds('in-reply-to')[0] ?? header.messageIds('references').at(-1) ?? null;
}

/** The first group of fields is about the server; each further one is about a recipient. */
function recipientsOf(status: Buffer): ReportedRecipient[] {
  const groups = status
    .toString('latin1')
    .replace(/\r\n?/g, '\n')
    .split(/\n[ \t]*\n/)
    .slice(0, MAX_GROUPS);
  const recipients: ReportedRecipient[] = [];
  for (const group of groups) {
    const fields = new Header(Buffer.from(group, 'latin1'));
    const address = addressOf(fields.raw('original-recipient')) ?? addressOf(fields.raw('final-recipient'));
    const final = addressOf(fields.raw('final-recipient')) ?? address;
    const action = /^[a-z]+/.exec((fields.raw('action') ?? '').toLowerCase())?.[0] ?? '';
    if (final === null || !isAction(action)) continue;
    recipients.push({
      address: address ?? final,
      action,
      status: statusOf(fields.raw('status') ?? '') ?? statusOf(fields.raw('diagnostic-code') ?? ''),
      diagnostic: diagnosticOf(fields.text('diagnostic-code')),
    });
  }
  return recipients;
}

/** Reads a field such as `rfc822; ada@example.test`. */
function addressOf(field: string | null): string | null {
  const value = (field ?? '')
    .replace(/^[^;]*;/, '')
    .trim()
    .replace(/^<(.*)>$/, '$1');
  return cleanAddress(value);
}

function isAction(text: string): text is ReportedRecipient['action'] {
  return ['failed', 'delayed', 'delivered', 'relayed', 'expanded'].includes(text);
}

/**
 * Returns the enhanced status in a text, such as `5.1.1`, else one derived from the SMTP reply
 * code.
 */
export function statusOf(text: string): string | null {
  const enhanced = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(text)?.[1];
  if (enhanced !== undefined) return enhanced;
  const code = /(?<!\d)([45])\d\d(?!\d)/.exec(text)?.[1];
  return code === undefined ? null : `${code}.0.0`;
}

/** Without its type (`smtp; …`). */
export function diagnosticOf(text: string | null): string | null {
  const words = cleanLine((text ?? '').replace(/^\s*(x-)?[a-z0-9-]{1,20}\s*;/i, ''));
  return cutText(words, MAX_DIAGNOSTIC) || null;
}

const MAX_GROUPS = 200;
const MAX_DIAGNOSTIC = 500;

function headOf(mail: Buffer): Buffer {
  const end = /\r?\n\r?\n/.exec(mail.toString('latin1').trimStart());
  return end === null ? mail : Buffer.from(mail.toString('latin1').trimStart().slice(0, end.index), 'latin1');
}
