import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import {
  SMTPServer,
  type SMTPServerDataResult,
  type SMTPServerDataStream,
  type SMTPServerSession,
} from 'smtp-server';
import { networkOf, type RateLimiter } from '../../../api/access/rate-limit.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { Logger } from '../../../platform/log.ts';
import { isPublicAddress } from '../../../platform/outbound/addresses.ts';
import type { MailMetrics } from '../metrics.ts';
import type { Envelope } from './envelope.ts';
import { type Delivery, type Intake, MAX_MAIL_BYTES } from './intake.ts';
import type { Places } from './places.ts';

export interface SmtpListenerOptions extends NonNullable<NodeParts['config']['smtpListen']> {
  /** Whether other processes listen on the same port. */
  readonly isShared?: boolean;
  /** The name of this server in its greeting. */
  readonly name: string;
  /** The certificate for STARTTLS, which is not offered if null. */
  readonly tls: Certificate | null;
  readonly intake: Pick<Intake, 'deliver' | 'mailboxesAt'>;
  readonly places: Places;
  /** Limits mails by address. */
  readonly limiter: Pick<RateLimiter, 'consume'>;
  readonly metrics: Pick<MailMetrics, 'mailRefusals'>;
  readonly log: Logger;
  readonly limits?: Partial<typeof SMTP_LIMITS>;
}

/** PEM texts. */
type Certificate = Readonly<Record<'cert' | 'key', string>>;

/** By default, mail servers keep at most 20 connections to another server, each for minutes. */
const SMTP_LIMITS = {
  connections: 100,
  connectionsPerAddress: 20,
  recipients: 100,
  /** Milliseconds without data from the client. */
  idleMs: 60_000,
  /** Milliseconds from DATA to the end of the mail. */
  dataMs: 600_000,
  /** Milliseconds of a connection, however busy. */
  connectionMs: 1_800_000,
};

/** The facts of a connection besides the library's session. */
interface Client {
  readonly network: string;
  readonly timer: NodeJS.Timeout;
  /** The inbox of each recipient, by address. */
  readonly inboxes: Map<string, string>;
  /** Whether a mail is being received. */
  isReceiving: boolean;
}

/**
 * Accepts mail over SMTP or LMTP, only for inboxes: it relays nothing and authenticates no client.
 * 250 means that the mail is committed. Temporary failures are answered with 451, so that the
 * sender keeps the mail and tries again.
 */
export class SmtpListener {
  readonly #options: SmtpListenerOptions;
  readonly #limits: typeof SMTP_LIMITS;
  readonly #server: SMTPServer;
  readonly #clients = new Map<string, Client>();
  #isDraining = false;

  constructor(options: SmtpListenerOptions) {
    this.#options = options;
    this.#limits = { ...SMTP_LIMITS, ...options.limits };
    const { protocol, name, tls, log } = options;
    this.#server = new SMTPServer({
      name,
      lmtp: protocol === 'lmtp',
      ...(tls !== null && { cert: tls.cert, key: tls.key }),
      // The last three are jokes of the library.
      disabledCommands: ['AUTH', 'HELP', 'WIZ', 'SHELL', 'KILL', ...(tls === null ? ['STARTTLS'] : [])],
      size: MAX_MAIL_BYTES,
      rejectOversized: true,
      maxClients: this.#limits.connections,
      maxRecipients: this.#limits.recipients,
      maxCommandLength: 4_096,
      maxAllowedUnauthenticatedCommands: false,
      socketTimeout: this.#limits.idleMs,
      // Names that addresses resolve to are not trusted.
      disableReverseLookup: true,
      logger: false,
      onConnect: (session, done) => settle(this.#connect(session), done),
      onClose: (session) => this.#closed(session),
      onMailFrom: (_, session, done) => settle(this.#admit(session), done),
      onRcptTo: ({ address }, session, done) => settle(this.#findMailbox(address, session), done),
      onData: (stream, session, done) => {
        void this.#receive(stream, session).then((answer) => done(...answer));
      },
    });
    this.#server.on('error', (error) => log.debug({ err: error }, 'a connection that brings mail failed'));
  }

  /** Resolves with the port. Rejects with a one-line message if it is taken. */
  async listen(): Promise<number> {
    const { host, port, protocol, isShared } = this.#options;
    // Where processes cannot share a port, the call throws.
    const server = this.#server.listen({ host, port, ...(isShared === true && { reusePort: true }) });
    try {
      await once(server, 'listening');
    } catch (cause) {
      throw new Error(`cannot listen for ${protocol} on ${host}:${port}: ${(cause as Error).message}`, {
        cause,
      });
    }
    return (server.address() as AddressInfo).port;
  }

  /** Uses this certificate for STARTTLS from now on. */
  renewCertificate({ cert, key }: Certificate): void {
    this.#server.updateSecureContext({ cert, key });
  }

  /** Accepts no more connections and mails; mails being received have `ms` milliseconds. */
  async drain(ms: number): Promise<void> {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const closed = new Promise<void>((resolve) => {
      this.#server.options.closeTimeout = ms;
      this.#server.close(() => resolve());
    });
    for (const [id, client] of this.#clients) if (!client.isReceiving) this.#cut(id, SHUTTING_DOWN);
    await closed;
  }

  async #connect({ id, remoteAddress }: SMTPServerSession): Promise<void> {
    const network = networkOf(remoteAddress);
    const isSame = (client: Client) => client.network === network;
    if ([...this.#clients.values()].filter(isSame).length >= this.#limits.connectionsPerAddress) {
      this.#count('limit');
      throw new Reply(421, '4.7.0 Too many connections from this address. Try again later.');
    }
    const timer = setTimeout(
      () => this.#cut(id, 'This connection took too long.'),
      this.#limits.connectionMs,
    );
    this.#clients.set(id, { network, timer, inboxes: new Map(), isReceiving: false });
  }

  #closed({ id }: SMTPServerSession): void {
    clearTimeout(this.#clients.get(id)?.timer);
    this.#clients.delete(id);
  }

  async #admit({ remoteAddress }: SMTPServerSession): Promise<void> {
    if (this.#isDraining) throw new Reply(421, `4.3.2 ${SHUTTING_DOWN}`);
    try {
      await this.#options.limiter.consume(remoteAddress);
    } catch (error) {
      this.#count('limit');
      throw replyTo(error);
    }
  }

  async #findMailbox(address: string, { id }: SMTPServerSession): Promise<void> {
    const [inbox] = await this.#options.intake.mailboxesAt([address]).catch((error) => {
      throw this.#failed(error);
    });
    if (inbox === undefined) {
      this.#count('recipient');
      throw noSuchMailbox();
    }
    this.#clients.get(id)?.inboxes.set(address, inbox.id);
  }

  /** Never rejects. */
  async #receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<DataAnswer> {
    const client = this.#clients.get(session.id);
    if (client !== undefined) client.isReceiving = true;
    const timer = setTimeout(() => this.#cut(session.id, 'The mail took too long.'), this.#limits.dataMs);
    stream.once('close', () => clearTimeout(timer));
    let free: (() => void) | undefined;
    try {
      free = this.#options.places.take(session.remoteAddress);
      // Not destroyed if it is not read to its end, because the client gets its answer after its
      // last byte.
      const bytes: AsyncIterable<Buffer> = stream.iterator({ destroyOnReturn: false });
      const deliveries = await this.#options.intake.deliver(bytes, this.#envelopeOf(session));
      return this.#answerTo(deliveries, session);
    } catch (error) {
      return [this.#failed(error)];
    } finally {
      free?.();
      stream.resume();
      if (client !== undefined) client.isReceiving = false;
      if (this.#isDraining) setImmediate(() => this.#cut(session.id, SHUTTING_DOWN));
    }
  }

  #envelopeOf({ envelope, remoteAddress, hostNameAppearsAs }: SMTPServerSession): Envelope {
    const { protocol } = this.#options;
    // A peer in the same network is a server in front of this one, which has checked the sender.
    const isExchanger = protocol === 'smtp' && isPublicAddress(remoteAddress);
    return {
      transport: protocol,
      sender: envelope.mailFrom === false ? null : envelope.mailFrom.address,
      recipients: envelope.rcptTo.map(({ address }) => address),
      client: isExchanger ? { address: remoteAddress, helo: hostNameAppearsAs } : null,
    };
  }

  /**
   * Returns the answer: for each recipient with LMTP, only one with SMTP. With SMTP, an inbox that
   * has to get the mail again takes precedence over an inbox that got it.
   */
  #answerTo(deliveries: readonly Delivery[], { id, envelope }: SMTPServerSession): DataAnswer {
    if (this.#options.protocol === 'lmtp') {
      const inboxes = this.#clients.get(id)?.inboxes;
      const answers = envelope.rcptTo.map(({ address }) => {
        const delivery = deliveries.find(({ inbox }) => inbox.id === inboxes?.get(address));
        if (delivery === undefined) return noSuchMailbox();
        const { result } = delivery;
        return result.status === 'fulfilled' ? TAKEN : this.#failed(result.reason);
      });
      return [null, answers];
    }
    const failures = deliveries.flatMap(({ result }) =>
      result.status === 'rejected' ? this.#failed(result.reason) : [],
    );
    const passing = failures.find(({ responseCode }) => responseCode < 500);
    if (passing !== undefined) return [passing];
    return failures.length < deliveries.length ? [null, TAKEN] : [failures[0]!];
  }

  #failed(error: unknown): Reply {
    const answer = replyTo(error);
    if (answer.responseCode === 451 && !(error instanceof ApiError && error.status < 500)) {
      this.#options.log.warn({ err: error }, 'a mail could not be taken in: its sender tries again');
    }
    return answer;
  }

  #count(reason: string): void {
    this.#options.metrics.mailRefusals.inc({ transport: this.#options.protocol, reason });
  }

  /** Ends the connection. */
  #cut(id: string, why: string): void {
    for (const connection of this.#server.connections) {
      if (connection.id === id) connection.send(421, `4.4.2 ${why}`);
    }
  }
}

/** The arguments of the library's callback: an error for all recipients, or an answer for each. */
type DataAnswer = [error: Error | null, message?: string | SMTPServerDataResult[]];

class Reply extends Error {
  readonly responseCode: number;

  constructor(responseCode: number, text: string) {
    super(text);
    this.responseCode = responseCode;
  }
}

const TAKEN = '2.0.0 The mail was taken in.';

function noSuchMailbox(): Reply {
  return new Reply(550, '5.1.1 No inbox has this address.');
}

/** Codes of RFC 5321 and RFC 3463: 5.x for permanent failures, 4.x for temporary ones. */
function replyTo(error: unknown): Reply {
  if (!(error instanceof ApiError))
    return new Reply(451, '4.3.0 The mail could not be taken in. Try again later.');
  if (error.condition === 'resource_not_found') return noSuchMailbox();
  if (error.condition === 'payload_too_large') return new Reply(552, `5.3.4 ${error.message}`);
  if (error.condition === 'rate_limit_exceeded') return new Reply(451, `4.7.1 ${error.message}`);
  if (error.condition === 'limit_exceeded') return new Reply(452, `4.2.2 ${error.message}`);
  if (error.status < 500) return new Reply(554, `5.6.0 ${error.message}`);
  return new Reply(451, `4.3.0 ${error.message}`);
}

function settle(work: Promise<void>, done: (error?: Error | null) => void): void {
  work.then(
    () => done(),
    (error: Error) => done(error),
  );
}

const SHUTTING_DOWN = 'The server is shutting down. Try again later.';
