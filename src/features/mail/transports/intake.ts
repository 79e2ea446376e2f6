import type { ParsedMail } from '@parley/mail-reader/parsed-mail.ts';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { MailboxRow } from '../../../core/resources/mailbox.ts';
import type { MailHead } from '../mails/mail-store.ts';
import type { MailMetrics } from '../metrics.ts';
import type { MailKey } from '../outgoing/mail-key.ts';
import type { Envelope } from './envelope.ts';
import type { ParseMail } from './parse-mail.ts';
import { findMailboxes, mailboxesAt } from './recipients.ts';
import { RegisteredFiles } from './registered-files.ts';
import { readHead } from './source-head.ts';

/** The stored bytes of a mail, in the store of files. */
export interface MailSource {
  readonly key: string;
  readonly sizeBytes: number;
}

/** A mail that arrived for an inbox. */
export interface Arrival {
  readonly inbox: MailboxRow;
  readonly envelope: Envelope;
  readonly source: MailSource;
  readonly mail: ParsedMail;
}

export interface IntakeOptions extends Pick<NodeParts, 'database' | 'store' | 'log'> {
  readonly key: MailKey;
  readonly parseMail: ParseMail;
  /** Decides the fate of a mail, and commits it. */
  readonly acceptMail: (arrival: Arrival) => Promise<MailHead>;
  readonly metrics: Pick<MailMetrics, 'mailReceived' | 'mailReceiveSeconds'>;
}

/** The outcome of a mail at one of its inboxes. */
export interface Delivery {
  readonly inbox: MailboxRow;
  readonly result: PromiseSettledResult<MailHead>;
}

/** Maximum size of an incoming mail in bytes. */
export const MAX_MAIL_BYTES = 25 * 1024 * 1024;

/**
 * The only entry, for every transport. The mail is streamed into the store of files while it
 * arrives, then parsed from there and accepted for each of its inboxes. Everything is committed
 * when `receive` resolves.
 */
export class Intake {
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /**
   * Reads `bytes` to their end, and returns one row for each inbox of the mail. Rejects with
   * ApiError `resource_not_found` if no inbox has an address of the mail, `payload_too_large` above
   * MAX_MAIL_BYTES, `invalid_format` without any byte, or the error of `bytes`, of the store or of
   * Postgres. The sender may then try again, because the same mail twice is one mail.
   */
  async receive(bytes: AsyncIterable<Buffer>, envelope: Envelope): Promise<MailHead[]> {
    const deliveries = await this.deliver(bytes, envelope);
    return deliveries.map(({ result }) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  /** Returns the inboxes of these envelope addresses, each once. */
  mailboxesAt(addresses: readonly string[]): Promise<MailboxRow[]> {
    return mailboxesAt(this.#options.database, this.#options.key, addresses);
  }

  /** Returns the outcome for each inbox: a failing inbox does not keep the mail from the others. */
  async deliver(bytes: AsyncIterable<Buffer>, envelope: Envelope): Promise<Delivery[]> {
    const { transport } = envelope;
    const { metrics } = this.#options;
    const endTimer = metrics.mailReceiveSeconds.startTimer({ transport });
    try {
      const deliveries = await this.#deliver(bytes, envelope);
      for (const { result } of deliveries) {
        metrics.mailReceived.inc({
          transport,
          result: result.status === 'fulfilled' ? result.value.status : resultOf(result.reason),
        });
      }
      return deliveries;
    } catch (error) {
      metrics.mailReceived.inc({ transport, result: resultOf(error) });
      throw error;
    } finally {
      endTimer();
    }
  }

  async #deliver(bytes: AsyncIterable<Buffer>, envelope: Envelope): Promise<Delivery[]> {
    const { database, store, key } = this.#options;
    const arriving = await readHead(limited(bytes));
    const [first, ...others] = await findMailboxes(database, key, envelope, arriving.head);
    if (first === undefined) {
      // Read to its end anyway, where other defects of the mail (size, signature) are found.
      for await (const _ of arriving.bytes);
      throw new ApiError('resource_not_found', 'No inbox has an address that this mail was sent to.');
    }
    const files = new RegisteredFiles(database, store, first);
    const source = await this.#store(files, arriving.bytes);
    const deliveries: Delivery[] = [];
    for (const inbox of others) {
      const [result] = await Promise.allSettled([this.#deliverCopy(inbox, envelope, source)]);
      deliveries.push({ inbox, result });
    }
    // Last, because it may remove the source from which the others are copied.
    const [result] = await Promise.allSettled([this.#accept(first, envelope, source, files)]);
    return [{ inbox: first, result }, ...deliveries];
  }

  /** Delivers a copy with its own source, which follows the retention of its account. */
  async #deliverCopy(inbox: MailboxRow, envelope: Envelope, { key }: MailSource): Promise<MailHead> {
    const { database, store } = this.#options;
    const original = await store.open(key);
    if (original === undefined) throw new Error('the source of a mail is gone');
    const files = new RegisteredFiles(database, store, inbox);
    const copy = await this.#store(files, original.read({ isTransient: true }));
    return this.#accept(inbox, envelope, copy, files);
  }

  /** Stores the source. An incomplete source leaves no file behind. */
  async #store(files: RegisteredFiles, bytes: AsyncIterable<Buffer>): Promise<MailSource> {
    const key = newId('upload');
    try {
      const sizeBytes = await files.putStream({ key, contentType: SOURCE_TYPE }, bytes);
      if (sizeBytes === 0) throw new ApiError('invalid_format', 'The mail is empty.');
      return { key, sizeBytes };
    } catch (error) {
      await this.#tidy(files.removeUnreferenced());
      throw error;
    }
  }

  async #accept(
    inbox: MailboxRow,
    envelope: Envelope,
    source: MailSource,
    files: RegisteredFiles,
  ): Promise<MailHead> {
    const { database, parseMail, acceptMail, log } = this.#options;
    let row: MailHead;
    try {
      const mail = await parseMail(files, source.key, database.load);
      row = await acceptMail({ inbox, envelope, source, mail });
      const { unread: cause } = mail;
      if (cause !== null)
        log.warn({ mail: row.id, cause }, 'a mail could not be read, and is kept as a file');
    } catch (error) {
      await this.#tidy(files.withdraw());
      throw error;
    }
    // Files of a mail that already existed, and attachments of a mail that became no message.
    await this.#tidy(files.removeUnreferenced());
    return row;
  }

  /** Removes files; the purge of uploads retries failures a day later. */
  async #tidy(work: Promise<void>): Promise<void> {
    await work.catch((error) => {
      this.#options.log.warn({ err: error }, 'could not remove the files of a mail');
    });
  }
}

const SOURCE_TYPE = 'message/rfc822';

async function* limited(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > MAX_MAIL_BYTES) throw mailTooLarge();
    yield piece;
  }
}

export function mailTooLarge(): ApiError {
  return new ApiError('payload_too_large', `A mail may have ${MAX_MAIL_BYTES} bytes.`);
}

/** Returns the name for the metrics: `refused` mail will be refused again, `failed` may pass. */
function resultOf(error: unknown): 'refused' | 'failed' {
  return error instanceof ApiError && error.status < 500 ? 'refused' : 'failed';
}

/** Returns the reason of a refusal for the metrics, or undefined for a failure of this server. */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return REFUSALS[error.condition] ?? (error.status < 500 ? 'other' : undefined);
}

const REFUSALS: Readonly<Record<string, string>> = {
  invalid_credentials: 'signature',
  rate_limit_exceeded: 'limit',
  resource_not_found: 'recipient',
  payload_too_large: 'size',
};
