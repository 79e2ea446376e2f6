import { acceptMail } from '../features/mail/incoming/accept.ts';
import { authenticateMail } from '../features/mail/incoming/authentication.ts';
import type { MailKey } from '../features/mail/outgoing/mail-key.ts';
import { parseMail } from '../features/mail/reading/parse-mail.ts';
import { ImapPoller } from '../features/mail/transports/imap-poller.ts';
import { inboundRoutes } from '../features/mail/transports/inbound-routes.ts';
import { type Arrival, Intake } from '../features/mail/transports/intake.ts';
import { Places } from '../features/mail/transports/places.ts';
import type { Certificate, SmtpListener } from '../features/mail/transports/smtp-listener.ts';
import { isLoopbackAddress } from '../platform/http/loopback.ts';
import { readTlsFiles } from '../platform/http/tls-files.ts';
import type { Access } from './access.ts';
import type { Data } from './data.ts';
import type { Messaging } from './messaging.ts';
import type { PartOptions } from './part.ts';
import type { Urls } from './urls.ts';

export type MailIntake = ReturnType<typeof openIntake>;

export interface OpenIntakeOptions extends PartOptions {
  readonly key: MailKey;
}

/**
 * Opens the ways in which mail arrives: HTTP, and where they are configured SMTP or LMTP, and IMAP.
 */
export function openIntake(
  { config, log, metrics, disposer, key }: OpenIntakeOptions,
  { database, store, engine }: Data,
  { rateLimits }: Access,
  { lockedWrites }: Messaging,
) {
  const { mailAuthserv: authserv } = config;
  const accepting = {
    ...{ database, store, lockedWrites, key },
    authenticate: (arrival: Arrival) => authenticateMail({ store, authserv }, arrival),
  };
  const intake = new Intake({
    ...{ database, store, key, parseMail, metrics, log },
    acceptMail: (arrival) => acceptMail(accepting, arrival),
  });
  let listener: SmtpListener | undefined;
  return {
    publicRoutes: inboundRoutes({ intake, places: new Places(), secrets: config.mailSecrets, metrics }),
    /** Listens and polls from now on: everything that mail causes can be handled. */
    async start(urls: Urls): Promise<void> {
      if (config.smtpListen !== null) {
        // Loaded here, since a node without it needs none of its library.
        const library = await import('../features/mail/transports/smtp-listener.ts');
        listener = new library.SmtpListener({
          ...config.smtpListen,
          name: new URL(urls.public).hostname,
          tls: config.tls && readTlsFiles(config.tls),
          ...{ intake, places: new Places(), limiter: rateLimits.mails, metrics, log },
        });
        const port = await listener.listen();
        disposer.add('mail listener', listener, (it) => it.drain(0));
        log.info(
          { protocol: config.smtpListen.protocol, host: config.smtpListen.host, port },
          'listening for mail',
        );
      }
      if (config.imap !== null) {
        const poller = new ImapPoller({
          mailbox: config.imap,
          // A password never travels in the clear, but on this machine.
          requireTls: !isLoopbackAddress(config.imap.host),
          ...{ database, intake, nodeId: engine.nodeId, metrics, log },
        });
        disposer.add('mailbox', poller, (it) => it.close());
      }
    },
    /** Accepts no more mails; those that are on their way in have `ms`. */
    drain: async (ms: number) => listener?.drain(ms),
    /** New connections are secured with this certificate. */
    renewCertificate: (certificate: Certificate) => listener?.renewCertificate(certificate),
  };
}
