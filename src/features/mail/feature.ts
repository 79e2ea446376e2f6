import { readFile } from 'node:fs/promises';
import { Email } from '@parley/protocol/resources/email.ts';
import type { ReadEventData } from '../../core/features/account-event.ts';
import type { Core, Effects, Feature, NodeParts } from '../../core/features/feature.ts';
import { CONFIRMATION_DUE, INVITATION_DUE } from '../../core/features/mails.ts';
import { EMAIL_DUE } from '../../core/messages/outbox-topics.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { isLoopbackAddress } from '../../platform/http/origins.ts';
import { readTlsFiles, type TlsTexts } from '../../platform/http/tls-files.ts';
import { complaintRoutes } from './complaints/complaint-routes.ts';
import { conversationEmailRoutes } from './conversation-email-routes.ts';
import { demo } from './demo.ts';
import { holdings } from './holdings.ts';
import { acceptMail } from './incoming/accept.ts';
import { authenticateMail } from './incoming/authentication.ts';
import { mailCheck } from './mail-check.ts';
import { mailboxRoutes } from './mailboxes/mailbox-routes.ts';
import {
  type MailHead,
  type MailRow,
  presentEmail,
  readAutomatic,
  readMail,
  readMailHead,
  readMails,
  readOmittedTexts,
} from './mails/mail-store.ts';
import { EMAIL_RECEIVED } from './mails/outbox-topics.ts';
import { type MailMetrics, mailMetrics } from './metrics.ts';
import { addressesOf, type MailWriter } from './outgoing/compose-mail.ts';
import { openDigestMails, writeDigest } from './outgoing/digest-mails.ts';
import { fileLinkRoutes } from './outgoing/file-link-routes.ts';
import { FileLinks } from './outgoing/file-links.ts';
import {
  makeConfirmationMail,
  makeInvitationMail,
  writeConfirmation,
  writeInvitation,
} from './outgoing/link-mails.ts';
import { countLoops } from './outgoing/loop-limit.ts';
import { type MailKey, openMailKey } from './outgoing/mail-key.ts';
import { makeReply } from './outgoing/outgoing.ts';
import { SEND_TIMES } from './outgoing/send-times.ts';
import { MailSender } from './outgoing/sender.ts';
import { type DkimOptions, SmtpTransport } from './outgoing/transport.ts';
import { ANSWER_UNREAD, awaitReading, awaitReadingOf, mailUnread } from './outgoing/unread-mails.ts';
import { writeReply } from './outgoing/write-reply.ts';
import { openMailRemoval } from './removal/mail-removal.ts';
import { ImapPoller } from './transports/imap-poller.ts';
import { inboundRoutes } from './transports/inbound-routes.ts';
import { type Arrival, Intake } from './transports/intake.ts';
import { type ParseMail, parseMail } from './transports/parse-mail.ts';
import { Places } from './transports/places.ts';
import type { SmtpListener } from './transports/smtp-listener.ts';

/** Reads mails as the team sees them, without HTML, which clients read where they sandbox it. */
const readEmailData: ReadEventData = async ({ database, files }, ids) => {
  const mails = await readMails(database, ids);
  const shown = mails.map(async (mail) => {
    const value = { ...(await presentEmail(files, mail)), html: null };
    return [mail.id, { schema: Email, value }] as const;
  });
  return new Map(await Promise.all(shown));
};

export const mail: Feature = mailBy(SEND_TIMES);

/** Returns the feature; tests pass shorter times and another reader. */
export function mailBy(times: typeof SEND_TIMES, parse = parseMail): Feature {
  return {
    hooks: {
      eventReaders: { 'email.received': readEmailData },
      holdings,
      mailContent: readMail,
      omittedTexts: readOmittedTexts,
      automaticMails: readAutomatic,
      sendsMail: ({ smtpUrl }) => smtpUrl !== null,
      operationTexts: new URL('operations.md', import.meta.url),
      ...demo,
    },
    open: (node) => ({
      effects: unreadEffects(node),
      async join(core) {
        const { config, database, store, disposer } = node;
        const metrics = mailMetrics(node.metrics);
        const key = await openMailKey(database);
        const { outgoing, links, wake, drain } = await openSender(node, metrics, times, key);
        const removal = openMailRemoval(node);
        disposer.add('removal of mails', removal, (it) => it.close());
        const intake = openIntake(node, metrics, core, key, parse);
        const domains = { domains: config.mailDomains, isAny: config.registration === 'closed' };
        return {
          ...intake,
          routes: {
            messages: [
              ...conversationEmailRoutes(node, outgoing),
              ...mailboxRoutes(database, domains),
              ...complaintRoutes(database),
            ],
          },
          jobs: [handle(ANSWER_UNREAD, (unread) => mailUnread(outgoing, unread))],
          checks: [mailCheck(config.smtpUrl, metrics, () => countLoops(database))],
          publicRoutes: { ...fileLinkRoutes(links, node), ...intake.publicRoutes },
          handlers: [
            handle(EMAIL_DUE, (due) => makeReply(outgoing, due)),
            handle(CONFIRMATION_DUE, async (due) => {
              await makeConfirmationMail(database, config.mailFrom, due);
              wake();
            }),
            handle(INVITATION_DUE, async (due) => {
              await makeInvitationMail(database, config.mailFrom, due);
              wake();
            }),
            handle(EMAIL_RECEIVED, async ({ mail_id }, isRepeated) => {
              const head = await readMailHead(database, mail_id);
              if (head === undefined || head.conversation_id === null) return;
              const data = async () =>
                (await readEmailData({ database, files: store }, [mail_id])).get(mail_id);
              await core.happened({ ...receivedEvent(head), data }, isRepeated);
            }),
          ],
          drain: async (ms) => void (await Promise.all([drain(ms), intake.drain(ms)])),
        };
      },
    }),
  };
}

/**
 * Returns the event of a received mail; the run reads the mail's text when it begins. An automatic
 * mail starts none.
 */
function receivedEvent({ conversation_id, message_id, automatic, ...head }: MailHead) {
  return {
    type: 'email.received',
    accountId: head.account_id,
    conversationId: conversation_id,
    resourceId: head.id,
    at: head.created_at,
    by: head.actor_id,
    runId: null,
    input: message_id === null || automatic ? null : { email_id: head.id, conversation_id, message_id },
  };
}

/**
 * Returns the effects by which answers that stay unread are mailed. A node without SMTP has none.
 */
function unreadEffects({ config, database, directory }: NodeParts): Effects {
  if (config.smtpUrl === null) return {};
  const options = { database, directory };
  return {
    completed: (messages) => awaitReading(options, messages),
    // The mail of a deleted message is withdrawn, and may have had other answers.
    messageDeleted: ({ conversation_id }) => awaitReadingOf(options, conversation_id),
  };
}

async function openSender(node: NodeParts, metrics: MailMetrics, times: typeof SEND_TIMES, key: MailKey) {
  const { config, database, urls, disposer } = node;
  const links = new FileLinks({ secret: key, baseUrl: () => urls.public });
  const reply: MailWriter = (mail) => writeReply(node, key, links, mail);
  const { smtpUrl } = config;
  let sender: MailSender | undefined;
  if (smtpUrl !== null) {
    const transport = new SmtpTransport({
      url: smtpUrl,
      // Passwords are never sent unencrypted, except on this machine.
      requireTls: needsTls(smtpUrl),
      dkim: await readDkim(config),
    });
    const writers = {
      reply,
      digest: (mail: MailRow) => writeDigest(database, mail),
      confirmation: (mail: MailRow) => writeConfirmation(database, urls.public, mail),
      invitation: (mail: MailRow) => writeInvitation(database, urls.public, mail),
    };
    const running = new MailSender({ ...node, metrics, transport, times, writers });
    sender = disposer.add('mail that goes out', running, (it) => it.close());
    const digests = openDigestMails(node, () => running.wake());
    disposer.add('mails of digests', digests, (it) => it.close());
  }
  const onDue = async (mailId: string) => {
    if (sender !== undefined) sender.wake();
    else if (config.demo) await show(node, reply, mailId);
  };
  const outgoing = { database, key, log: node.log, hasTransport: sender !== undefined, onDue };
  return { outgoing, links, wake: () => sender?.wake(), drain: async (ms: number) => sender?.drain(ms) };
}

/** Opens the transports for incoming mail: HTTP, and if configured SMTP or LMTP, and IMAP. */
function openIntake(
  node: NodeParts,
  metrics: MailMetrics,
  { lockedWrites }: Core,
  key: MailKey,
  parseMail: ParseMail,
) {
  const { config, store, engine, rateLimits, urls, log, disposer } = node;
  const { mailAuthserv: authserv } = config;
  const authenticate = (arrival: Arrival) => authenticateMail({ store, authserv }, arrival);
  const intake = new Intake({
    ...node,
    metrics,
    key,
    parseMail,
    acceptMail: (arrival) => acceptMail({ ...node, lockedWrites, key, authenticate }, arrival),
  });
  let listener: SmtpListener | undefined;
  return {
    publicRoutes: inboundRoutes({ intake, places: new Places(), secrets: config.mailSecrets, metrics }),
    /** Listens and polls from now on, because everything that mail causes can be handled. */
    async listen(): Promise<void> {
      if (config.smtpListen !== null) {
        // Imported here because a node without a listener does not need the library.
        const library = await import('./transports/smtp-listener.ts');
        listener = new library.SmtpListener({
          ...config.smtpListen,
          isShared: config.processes > 1,
          name: new URL(urls.public).hostname,
          tls: config.tls && readTlsFiles(config.tls),
          intake,
          places: new Places(),
          limiter: rateLimits.mails,
          metrics,
          log,
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
          ...node,
          metrics,
          mailbox: config.imap,
          requireTls: !isLoopbackAddress(config.imap.host),
          intake,
          nodeId: engine.nodeId,
        });
        disposer.add('mailbox', poller, (it) => it.close());
      }
    },
    /** Accepts no more mails; mails that are being received have `ms` milliseconds. */
    drain: async (ms: number) => listener?.drain(ms),
    renewCertificate: (certificate: TlsTexts) => listener?.renewCertificate(certificate),
  };
}

function needsTls(smtpUrl: string): boolean {
  const url = URL.parse(smtpUrl);
  return (
    url?.protocol === 'smtp:' &&
    url.password !== '' &&
    !isLoopbackAddress(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  );
}

async function readDkim({ dkim }: NodeParts['config']): Promise<DkimOptions | null> {
  if (dkim === null) return null;
  const privateKey = await readFile(dkim.keyFile, 'utf8').catch((cause: unknown) => {
    throw new Error(`PARLEY_DKIM_KEY: ${dkim.keyFile} cannot be read`, { cause });
  });
  return { domainName: dkim.domain, keySelector: dkim.selector, privateKey };
}

/** Logs a mail instead of sending it, because the demo account has no SMTP server. */
async function show({ database, log }: NodeParts, reply: MailWriter, mailId: string): Promise<void> {
  const mail = await readMail(database, mailId);
  if (mail === undefined) return;
  const written = await reply(mail);
  if ('unsent' in written) return;
  const { subject, text } = written;
  const [from, to, cc] = [mail.from_address, addressesOf(mail, 'to'), addressesOf(mail, 'cc')];
  log.info({ from, to, cc, subject, text }, 'mail stays here: PARLEY_SMTP_URL is not set');
}
