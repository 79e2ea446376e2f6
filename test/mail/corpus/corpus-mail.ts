import type { DeliveryReport, Mailbox, ParsedMail } from '../../../src/mail/parsed-mail.ts';

/** A mail of the corpus, and what must come of it. */
export interface CorpusMail {
  /** Unique, in kebab case: what is odd about it. */
  readonly name: string;
  /** The mail as it comes. */
  readonly source: () => Buffer;
  /** What must be read of it; fields that are not named have no expectation. */
  readonly parsed: ExpectedMail;
}

export interface ExpectedMail {
  readonly rfcId?: string | null;
  readonly inReplyTo?: string | null;
  readonly references?: readonly string[];
  readonly from?: Mailbox | null;
  readonly replyTo?: Mailbox | null;
  readonly to?: readonly Mailbox[];
  readonly cc?: readonly Mailbox[];
  readonly subject?: string | null;
  readonly sentAt?: string | null;
  /** Absent: the same as `visibleText`. */
  readonly text?: string | RegExp;
  readonly visibleText?: string | RegExp;
  /** Patterns that the HTML has, and does not have; null: there is none. */
  readonly html?: { readonly has?: readonly RegExp[]; readonly hasNot?: readonly RegExp[] } | null;
  readonly attachments?: readonly {
    readonly filename: string;
    readonly contentType: string;
    readonly sizeBytes: number;
  }[];
  readonly report?: DeliveryReport | null;
  /** False where nothing is said. */
  readonly isDamaged?: boolean;
  /** Headers of the result, by name. */
  readonly headers?: Readonly<Record<string, ParsedMail['headers'][number]['value']>>;
}

/** Bytes of a mail that is written with `\n` and with a character for each byte (`\xe4`), as mail has them. */
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
