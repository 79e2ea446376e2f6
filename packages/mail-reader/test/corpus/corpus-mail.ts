import type { Complaint, DeliveryReport, Mailbox, MailProtection } from '../../parsed-mail.ts';

/**
 * A mail of the corpus, and what must be read of it. What becomes of it in an account is in
 * becomes.ts, under the same name.
 *
 * All are written to the inbox `support@harbor.example`. Its customer is Cleo
 * (`cleo@customer.example`), its team member is Grace (`grace@harbor.example`), and the mail that
 * the team wrote to Cleo has the Message-ID `our-mail@harbor.example`.
 */
export interface CorpusMail {
  /**
   * Unique, in kebab case: what is odd about it. Its Message-ID is `<name>@customer.example`,
   * unless it says otherwise.
   */
  readonly name: string;
  /** The mail as it comes. */
  readonly source: () => Buffer;
  readonly parsed: ExpectedMail;
}

/**
 * What is not named is as in a plain mail of Cleo: no HTML, no attachment, no report, neither
 * signed nor encrypted, not damaged.
 */
export interface ExpectedMail {
  readonly rfcId?: string | null;
  readonly inReplyTo?: string | null;
  readonly references?: readonly string[];
  readonly from?: Mailbox | null;
  readonly replyTo?: Mailbox | null;
  readonly to?: readonly Mailbox[];
  readonly cc?: readonly Mailbox[];
  readonly subject?: string | null;
  /** Absent: nothing but the visible text. */
  readonly text?: string | RegExp;
  readonly visibleText: string | RegExp;
  /** Patterns that the HTML has, and those that it does not have. */
  readonly html?: { readonly has?: readonly RegExp[]; readonly hasNot?: readonly RegExp[] };
  /** File name, type, size in bytes. */
  readonly attachments?: readonly (readonly [string, string, number])[];
  readonly report?: DeliveryReport;
  readonly complaint?: Complaint;
  readonly protection?: MailProtection;
  readonly isDamaged?: true;
  /** Decoded headers that the result has. */
  readonly headers?: Readonly<Record<string, string>>;
}

export const PLAIN = {
  from: { address: 'cleo@customer.example', name: 'Cleo Customer' },
  to: [{ address: 'support@harbor.example', name: 'Harbor' }],
  subject: 'Order 17',
} as const;

/**
 * A mail of Cleo. `fields` replace those of the plain mail or are added to it; null leaves one out.
 */
export function letter(name: string, fields: Readonly<Record<string, string | null>>, body: string): Buffer {
  const all: Record<string, string | null> = {
    'Return-Path': '<cleo@customer.example>',
    From: 'Cleo Customer <cleo@customer.example>',
    To: 'Harbor <support@harbor.example>',
    Subject: 'Order 17',
    Date: 'Fri, 20 Nov 2026 10:30:00 +0100',
    'Message-ID': `<${name}@customer.example>`,
    'MIME-Version': '1.0',
    ...fields,
  };
  const lines = Object.entries(all).flatMap(([field, value]) => (value === null ? [] : `${field}: ${value}`));
  return eml(`${lines.join('\n')}\n\n${body.replace(/^\n/, '')}`);
}

/** Bytes of a mail that is written with `\n` and with a character for each byte (`\xe4`). */
export function eml(text: string): Buffer {
  return Buffer.from(text.replace(/^\n/, '').replace(/\n/g, '\r\n'), 'latin1');
}

/** UTF-8 as a character for each byte. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Base64 in lines of 76 characters. */
export function base64(bytes: Buffer | string): string {
  return Buffer.from(bytes)
    .toString('base64')
    .replace(/.{76}(?=.)/g, '$&\n');
}

/** Quoted-printable of UTF-8, without line breaks of its own. */
export function quoted(text: string): string {
  return utf8(text).replace(
    /[=\x80-\xff]/g,
    (character) => `=${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
