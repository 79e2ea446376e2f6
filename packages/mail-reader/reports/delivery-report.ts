import { cleanAddress, Header } from '../mime/header.ts';
import type { DeliveryReport, ReportedRecipient } from '../parsed-mail.ts';
import { namesServer, statusOf, wordedRecipients } from './worded-report.ts';

export interface ReportParts {
  /** The text for people. */
  readonly text: string;
  /** The parts for machines (RFC 3464, RFC 5965), or empty. */
  readonly status: Buffer;
  /** The returned mail, or only its header, or empty. */
  readonly returned: Buffer;
}

/** Reads a report of RFC 3464, or of words alone. Returns null if the mail has none. */
export function readReport(header: Header, parts: ReportParts): DeliveryReport | null {
  const reported = recipientsOf(parts.status);
  const originalRfcId = originalRfcIdOf(header, parts);
  if (reported.length > 0) return { recipients: reported, evidence: 'form', originalRfcId };
  // Some servers write the fields into the text for people.
  const inText = FIELDS.test(parts.text) ? recipientsOf(Buffer.from(parts.text, 'latin1')) : [];
  const recipients = inText.length > 0 ? inText : wordedRecipients(header, parts.text);
  if (recipients.length === 0) return null;
  return { recipients, evidence: namesServer(header) ? 'sender' : 'words', originalRfcId };
}

const FIELDS = /^final-recipient:/im;

/** Returns the Message-ID of the mail that a report is about, or null if it has none. */
export function originalRfcIdOf(header: Header, { returned, text }: ReportParts): string | null {
  const [id] = returned.length === 0 ? [] : new Header(headOf(returned)).messageIds('message-id');
  if (id !== undefined) return id;
  // Old servers put the returned mail into their own text.
  const inText = /^[> \t]*Message-ID:[ \t]*\n?[ \t]*<([^<>\s]{1,900})>/im.exec(text)?.[1];
  if (inText !== undefined) return inText;
  // Other servers answer the mail like a person.
  return header.messageIds('in-reply-to')[0] ?? header.messageIds('references').at(-1) ?? null;
}

/** Reads a recipient from each group of fields but the first, which is about the server. */
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

const MAX_GROUPS = 200;

function headOf(mail: Buffer): Buffer {
  const end = /\r?\n\r?\n/.exec(mail.toString('latin1').trimStart());
  return end === null ? mail : Buffer.from(mail.toString('latin1').trimStart().slice(0, end.index), 'latin1');
}
