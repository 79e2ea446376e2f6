import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { FetchMessageObject, ImapFlow } from 'imapflow';
import type { NodeParts } from '../../../core/features/feature.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { MailMetrics } from '../metrics.ts';
import type { Envelope } from './envelope.ts';
import { type Intake, MAX_MAIL_BYTES, mailTooLarge, refusalOf } from './intake.ts';

export interface ImapPollerOptions extends Pick<NodeParts, 'database' | 'log'> {
  /** PARLEY_IMAP_URL. */
  readonly mailbox: NonNullable<NodeParts['config']['imap']>;
  /** If there is no TLS from the first byte, STARTTLS is required before the password is sent. */
  readonly requireTls: boolean;
  readonly intake: Pick<Intake, 'receive'>;
  /** Names this node. */
  readonly nodeId: string;
  readonly metrics: Pick<MailMetrics, 'mailRefusals'>;
  /** Milliseconds between two checks for something to do. Default: 10,000. */
  readonly everyMs?: number;
  /** Milliseconds between two looks at a mailbox that announces nothing. Default: 60,000. */
  readonly lookMs?: number;
}

/** Keyword of refused messages, which stay unseen so that a person can look at them. */
export const REFUSED_KEYWORD = '$ParleyRefused';

/**
 * Takes the mails of one mailbox that are neither seen nor refused, on one node at a time. A
 * message is marked as seen after its commit, so a message of a node that died before is taken
 * again, as the same mail. All state is in the mailbox, so a new UIDVALIDITY changes nothing.
 */
export class ImapPoller {
  readonly #options: ImapPollerOptions;
  readonly #loop: Loop;
  #client: ImapFlow | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  /** Replaces keywords that the mailbox does not keep: by UIDVALIDITY and UID. */
  readonly #refused = new Set<string>();

  constructor(options: ImapPollerOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: options.everyMs ?? EVERY_MS,
      run: (signal) => this.#run(signal),
      onError: (error) => this.#failed(error),
    });
    this.#loop.wake();
  }

  async close(): Promise<void> {
    const closed = this.#loop.close();
    // Ends a download that would not end by itself.
    this.#client?.close();
    await closed;
    this.#client?.close();
    const { database, nodeId, log } = this.#options;
    await database.query(RELEASE, nodeId).catch((err) => {
      log.debug({ err }, 'could not release the mailbox: another node takes it when the claim has ended');
    });
  }

  async #run(signal: AbortSignal): Promise<void> {
    if (!(await this.#claim())) {
      this.#client?.close();
      return;
    }
    const { lookMs = LOOK_MS } = this.#options;
    if (this.#client?.usable && performance.now() - this.#lookedAtMs < lookMs) return;
    const client = this.#client?.usable ? this.#client : await this.#connect(signal);
    this.#lookedAtMs = performance.now();
    if (!(await this.#takeAll(client, signal))) return;
    if (this.#isFailing) this.#options.log.info('mail is fetched from the mailbox again');
    this.#isFailing = false;
  }

  async #connect(signal: AbortSignal): Promise<ImapFlow> {
    // Imported here because a node without a mailbox does not need it.
    const { ImapFlow } = await import('imapflow');
    const { host, port, secure, user, password, mailbox } = this.#options.mailbox;
    const client = new ImapFlow({
      host,
      port,
      secure,
      ...(!secure && { doSTARTTLS: this.#options.requireTls }),
      auth: { user, pass: password },
      logger: false,
      autoIdleDelay: 1_000,
      connectionTimeout: 30_000,
      socketTimeout: 120_000,
      maxIdleTime: LOOK_MS,
      maxLineLength: 8 * 1024 * 1024,
      maxLiteralSize: 8 * 1024 * 1024,
    });
    this.#client = client;
    client.on('error', (error: Error) => this.#failed(error));
    client.on('exists', () => {
      this.#lookedAtMs = Number.NEGATIVE_INFINITY;
      this.#loop.wake();
    });
    try {
      await client.connect();
      await client.mailboxOpen(mailbox);
    } catch (error) {
      client.close();
      throw error;
    }
    if (signal.aborted) client.close();
    return client;
  }

  /** Returns false if some mails could not be taken and are to be tried again. */
  async #takeAll(client: ImapFlow, signal: AbortSignal): Promise<boolean> {
    const query = { seen: false, deleted: false, unKeyword: REFUSED_KEYWORD };
    const uids = (await client.search(query, { uid: true })) || [];
    let failures = 0;
    let isWhole = true;
    for (const uid of uids) {
      if (signal.aborted || !(await this.#claim())) return false;
      if (this.#refused.has(this.#nameOf(client, uid))) continue;
      try {
        await this.#take(client, uid);
        failures = 0;
      } catch (error) {
        if (!client.usable) throw error;
        if (isRefusal(error)) await this.#refuse(client, uid, error);
        else {
          this.#failed(error);
          failures += 1;
          isWhole = false;
        }
      }
      // One failing mail does not stop the others. If several fail, the cause is not the mails.
      if (failures === MOST_FAILURES) return false;
    }
    return isWhole;
  }

  async #take(client: ImapFlow, uid: number): Promise<void> {
    const message: FetchMessageObject | false = await client.fetchOne(uid, { size: true }, { uid: true });
    // Another client has removed the message.
    if (message === false) return;
    if ((message.size ?? 0) > MAX_MAIL_BYTES) throw mailTooLarge();
    try {
      await this.#receive(client, uid, null);
    } catch (error) {
      const { user } = this.#options.mailbox;
      if (!(error instanceof ApiError) || error.condition !== 'resource_not_found' || !user.includes('@'))
        throw error;
      // Headers do not name the recipient of a blind copy, which is then the mailbox itself.
      await this.#receive(client, uid, [user]);
    }
    await client.messageFlagsAdd(uid, ['\\Seen'], { uid: true });
  }

  async #receive(client: ImapFlow, uid: number, recipients: readonly string[] | null): Promise<void> {
    const { content } = await client.download(uid, undefined, { uid: true });
    if (content === undefined) return;
    const envelope: Envelope = { transport: 'imap', sender: null, recipients, client: null };
    try {
      await this.#options.intake.receive(content, envelope);
    } finally {
      content.destroy();
    }
  }

  async #refuse(client: ImapFlow, uid: number, error: ApiError): Promise<void> {
    const { metrics, log } = this.#options;
    metrics.mailRefusals.inc({ transport: 'imap', reason: refusalOf(error)! });
    log.warn({ uid, err: error }, `a mail of the mailbox was refused and got the keyword ${REFUSED_KEYWORD}`);
    this.#refused.add(this.#nameOf(client, uid));
    await client.messageFlagsAdd(uid, [REFUSED_KEYWORD], { uid: true });
  }

  #nameOf({ mailbox }: ImapFlow, uid: number): string {
    return `${mailbox === false || mailbox === undefined ? '' : mailbox.uidValidity} ${uid}`;
  }

  async #claim(): Promise<boolean> {
    const { database, nodeId } = this.#options;
    return (await database.query(CLAIM, nodeId)).length > 0;
  }

  /** Warns once about a failure that repeats. */
  #failed(err: unknown): void {
    const level = this.#isFailing ? 'debug' : 'warn';
    this.#options.log[level]({ err }, 'fetching mail from the mailbox failed');
    this.#isFailing = true;
  }
}

const EVERY_MS = 10_000;
const LOOK_MS = 60_000;
/** Seconds after which another node takes over the mailbox if its claim is not renewed. */
const CLAIM_S = 30;
const MOST_FAILURES = 3;

/** Returns whether the same mail would be refused again. */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status < 500 && error.condition !== 'rate_limit_exceeded';
}

const CLAIM = statement<[nodeId: string]>('claim-mailbox')`
    INSERT INTO settings AS held (name, value) VALUES ('imap_mailbox', $1)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, created_at = clock_timestamp()
      WHERE held.value = excluded.value OR held.created_at < clock_timestamp() - interval '${CLAIM_S} s'
    RETURNING 1`;

const RELEASE = statement<[nodeId: string]>('release-mailbox')`
    DELETE FROM settings WHERE name = 'imap_mailbox' AND value = $1`;
