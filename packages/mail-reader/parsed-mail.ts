/** A parsed incoming mail; nothing in it is trusted. */
export interface ParsedMail {
  /** All headers in lower case, in order, unfolded and, except those of servers, decoded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Message-ID without brackets, if any. */
  readonly rfcId: string | null;
  readonly inReplyTo: string | null;
  /** References without brackets, oldest first: at most 100, of at most 900 characters each. */
  readonly references: readonly string[];
  readonly from: Mailbox | null;
  readonly replyTo: Mailbox | null;
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
  readonly subject: string | null;
  /** The whole text, from the plain part or derived from the HTML. */
  readonly text: string;
  /** The text without quotes and signature: the body of its message, if the mail is an answer. */
  readonly visibleText: string;
  /** Sanitized, or null if the mail has no HTML. */
  readonly html: string | null;
  readonly attachments: readonly StoredPart[];
  /** The report of a bounce, or null for any other mail. */
  readonly report: DeliveryReport | null;
  /** The complaint of a recipient (RFC 5965), or null for any other mail. */
  readonly complaint: Complaint | null;
  /** `signed`: by S/MIME or PGP, which nothing checks. `encrypted`: nothing of the text is read. */
  readonly protection: MailProtection | null;
  /** Whether parts could not be read; the source still has them. */
  readonly isDamaged: boolean;
  /** Why nothing but the header was read, so that the whole mail is its attachment; else null. */
  readonly unread: UnreadCause | null;
}

export type MailProtection = 'signed' | 'encrypted';

/** The limit of reading that a mail broke, or `failure` where its thread ended by itself. */
export type UnreadCause = 'time' | 'memory' | 'failure';

/** A parsed mail whose attachments are in the sink. */
export type ReadMail = Omit<ParsedMail, 'attachments' | 'unread'>;

/** The facts of an unreadable mail. */
export const NOTHING_READ: ReadMail = {
  headers: [],
  rfcId: null,
  inReplyTo: null,
  references: [],
  from: null,
  replyTo: null,
  to: [],
  cc: [],
  subject: null,
  text: '',
  visibleText: '',
  html: null,
  report: null,
  complaint: null,
  protection: null,
  isDamaged: false,
};

export interface Mailbox {
  /** In lower case. */
  readonly address: string;
  readonly name: string | null;
}

/** A part of the mail as a file in the store, to which no row refers yet. */
export interface StoredPart {
  readonly key: string;
  readonly filename: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

export interface ReportedRecipient {
  /** Null if the report names no address, as some do that are words alone. */
  readonly address: string | null;
  readonly action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';
  /** Such as `5.1.1`, or null if the report does not say. */
  readonly status: string | null;
}

export interface DeliveryReport {
  readonly recipients: readonly ReportedRecipient[];
  /**
   * What says that it is a report: a part of RFC 3464; the words of its text and the name of its
   * sender, such as mailer-daemon; or the words alone, which a person may write or quote.
   */
  readonly evidence: 'form' | 'sender' | 'words';
  /** Message-ID of the returned mail, without brackets. */
  readonly originalRfcId: string | null;
}

/** A report of feedback: a recipient says something about a mail to its own service. */
export interface Complaint {
  /** The `Feedback-Type`, such as `abuse`, in lower case. */
  readonly kind: string;
  /** The recipients that it names, which many services leave out. */
  readonly addresses: readonly string[];
  /** Message-ID of the mail that it is about, without brackets. */
  readonly originalRfcId: string | null;
}
