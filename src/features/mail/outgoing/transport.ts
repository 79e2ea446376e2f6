import { domainToASCII } from 'node:url';
import type { EmailRecipient } from '@parley/protocol/resources/email.ts';
import type { SendMailOptions, Transporter } from 'nodemailer';

export interface TransportOptions {
  /** `PARLEY_SMTP_URL`. */
  readonly url: string;
  /** Whether TLS is required. Default: false, used if offered. */
  readonly requireTls?: boolean;
  /** The key that signs every mail (RFC 6376). */
  readonly dkim: DkimOptions | null;
}

export type DkimOptions = NonNullable<SendMailOptions['dkim']>;

/** The result of a try. */
export interface Tried {
  /** The outcome at each recipient that was tried. */
  readonly recipients: readonly Pick<EmailRecipient, 'address' | 'status' | 'code'>[];
  /** A code for why some recipients do not have it, or null if all have it. */
  readonly reason: string | null;
}

export interface MailTransport {
  /** Tries to send a mail to these recipients. Rejects only if the mail could not be made. */
  send(mail: SendMailOptions, recipients: readonly string[], signal: AbortSignal): Promise<Tried>;
  /** Ends all connections, even busy ones. */
  close(): void;
}

/** Maximum connections of a node to the server. */
const MAX_CONNECTIONS = 16;

const CONNECT_MS = 30_000;
/**
 * Milliseconds without a byte from the server. RFC 5321 (4.5.3.2) allows ten minutes for its last
 * answer, but a new try is better by then.
 */
const SILENT_MS = 90_000;

export class SmtpTransport implements MailTransport {
  readonly #options: TransportOptions;
  #transporter: Promise<Transporter> | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  async send(mail: SendMailOptions, recipients: readonly string[], signal: AbortSignal): Promise<Tried> {
    this.#transporter ??= open(this.#options);
    const transporter = await this.#transporter;
    try {
      const { accepted = [], rejectedErrors = [] } = await transporter.sendMail({ ...mail, signal });
      return triedOf(recipients, accepted, rejectedErrors as readonly SmtpError[]);
    } catch (error) {
      const { rejectedErrors = [] } = error as SmtpError;
      return triedOf(recipients, [], rejectedErrors, error as SmtpError);
    }
  }

  close(): void {
    this.#transporter?.then((transporter) => transporter.close({ force: true })).catch(() => {});
  }
}

async function open({ url, requireTls = false, dkim }: TransportOptions): Promise<Transporter> {
  // Imported here because a node without an SMTP server does not need it.
  const { createTransport } = await import('nodemailer');
  return createTransport({
    url,
    pool: true,
    requireTLS: requireTls,
    maxConnections: MAX_CONNECTIONS,
    // Once, and only if no byte of the mail was sent. Our own schedule repeats other failures.
    maxRequeues: 1,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    // Whatever a message says, its mail contains only the given data, and reads nothing from
    // elsewhere.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(dkim !== null && { dkim }),
  });
}

/** The fields of the library's errors besides their text. */
interface SmtpError extends Error {
  readonly code?: string;
  /** The first number in the server's answer. */
  readonly responseCode?: number;
  readonly response?: string;
  readonly recipient?: string;
  readonly rejectedErrors?: readonly SmtpError[];
}

/** Returns the result. `error` applies to recipients for which the server states no own error. */
function triedOf(
  recipients: readonly string[],
  accepted: readonly string[],
  rejected: readonly SmtpError[],
  error = rejected[0],
): Tried {
  const taken = new Set(accepted.map(keyOf));
  const errors = new Map(rejected.map((one) => [keyOf(one.recipient ?? ''), one]));
  return {
    recipients: recipients.map((address) => {
      if (taken.has(keyOf(address))) return { address, status: 'sent', code: null };
      const own = errors.get(keyOf(address)) ?? error;
      if (own === undefined) return { address, status: 'deferred', code: null };
      return { address, status: isFinal(own) ? 'failed' : 'deferred', code: codeOf(own) };
    }),
    reason: error === undefined ? null : reasonOf(error),
  };
}

/** Returns the form in which the library reports an address, its domain encoded for the DNS. */
function keyOf(address: string): string {
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  return `${address.slice(0, at)}@${domainToASCII(domain) || domain}`.toLowerCase();
}

/** Returns whether the answer is about this mail and final: a defect of our own may be mended. */
function isFinal({ code, responseCode }: SmtpError): boolean {
  if (code !== 'EENVELOPE' && code !== 'EMESSAGE') return false;
  return responseCode === undefined || (responseCode >= 500 && !NOT_AUTHORIZED.has(responseCode));
}

/** The server requires another login, or TLS first (RFC 4954). */
const NOT_AUTHORIZED: ReadonlySet<number> = new Set([530, 534, 535, 538]);

function reasonOf(error: SmtpError): string {
  const { code = '', responseCode } = error;
  if (code === 'EAUTH' || code === 'ENOAUTH' || NOT_AUTHORIZED.has(responseCode ?? 0))
    return 'not_authorized';
  if (code === 'ETIMEDOUT' || code === 'EABORT') return 'timeout';
  if (code === 'ESTREAM') return 'attachment_unavailable';
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return isFinal(error) ? 'rejected' : 'delayed';
  return 'connection_error';
}

/** Returns the enhanced status of the answer (RFC 3463), else its number, or null without one. */
function codeOf({ response, responseCode }: SmtpError): string | null {
  const [, enhanced] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '') ?? [];
  return enhanced ?? responseCode?.toString() ?? null;
}
