import { readFile } from 'node:fs/promises';
import { EMAIL_DUE } from '../core/messages/outbox-topics.ts';
import { openMailRemoval } from '../features/mail/mail-removal.ts';
import { type MailRow, readMail } from '../features/mail/mail-store.ts';
import { DigestMails, writeDigest } from '../features/mail/outgoing/digest-mails.ts';
import { fileLinkRoutes } from '../features/mail/outgoing/file-link-routes.ts';
import { FileLinks } from '../features/mail/outgoing/file-links.ts';
import { openMailKey } from '../features/mail/outgoing/mail-key.ts';
import { makeReply } from '../features/mail/outgoing/outgoing.ts';
import { SendSchedule } from '../features/mail/outgoing/send-schedule.ts';
import { MailSender } from '../features/mail/outgoing/sender.ts';
import { type DkimOptions, SmtpTransport } from '../features/mail/outgoing/transport.ts';
import { writeReply } from '../features/mail/outgoing/write-reply.ts';
import type { MailWriter } from '../features/mail/outgoing/written-mail.ts';
import type { Config } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { handle } from '../platform/db/topic.ts';
import { isLoopbackAddress } from '../platform/http/loopback.ts';
import type { Logger } from '../platform/log.ts';
import type { Data } from './data.ts';
import type { PartOptions } from './part.ts';
import type { Urls } from './urls.ts';

export type Mail = Awaited<ReturnType<typeof openMail>>;

export interface MailOptions extends PartOptions {
  readonly urls: Urls;
  /** Default: the usual times. */
  readonly sendSchedule?: SendSchedule | undefined;
}

/** Opens the mail bridge. */
export async function openMail(
  { config, log, metrics, disposer, urls, sendSchedule: schedule = new SendSchedule() }: MailOptions,
  { database, store }: Data,
) {
  const key = await openMailKey(database);
  const links = new FileLinks({ key, baseUrl: () => urls.public });
  const reply: MailWriter = (mail) => writeReply({ database, store, key, links }, mail);
  const { smtpUrl } = config;
  let sender: MailSender | undefined;
  if (smtpUrl !== null) {
    const transport = new SmtpTransport({
      url: smtpUrl,
      requireTls: needsTls(smtpUrl),
      dkim: await readDkim(config),
    });
    const writers = { reply, digest: (mail: MailRow) => writeDigest(database, mail) };
    const running = new MailSender({ database, transport, schedule, writers, metrics, log });
    sender = disposer.add('mail that goes out', running, (it) => it.close());
    const digests = new DigestMails({ database, from: config.mailFrom, onDue: () => running.wake(), log });
    disposer.add('mails of digests', digests, (it) => it.close());
  }
  disposer.add('removal of mails', openMailRemoval({ database, keepDays: config.mailDays, log }), (it) =>
    it.close(),
  );
  const onDue = async (mailId: string) => {
    if (sender !== undefined) sender.wake();
    else if (config.demo) await show({ database, log, reply }, mailId);
  };
  const outgoing = { database, key, hasTransport: sender !== undefined, onDue };
  return {
    key,
    outgoing,
    handlers: [handle(EMAIL_DUE, (due) => makeReply(outgoing, due))],
    publicRoutes: fileLinkRoutes(links, { database, store }),
    drain: async (ms: number) => sender?.drain(ms),
  };
}

/** A password never travels in the clear, but on this machine. */
function needsTls(smtpUrl: string): boolean {
  const url = URL.parse(smtpUrl);
  return (
    url?.protocol === 'smtp:' &&
    url.password !== '' &&
    !isLoopbackAddress(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  );
}

async function readDkim({ dkim }: Config): Promise<DkimOptions | null> {
  if (dkim === null) return null;
  const privateKey = await readFile(dkim.keyFile, 'utf8').catch((cause: unknown) => {
    throw new Error(`PARLEY_DKIM_KEY: ${dkim.keyFile} cannot be read`, { cause });
  });
  return { domainName: dkim.domain, keySelector: dkim.selector, privateKey };
}

/** Writes a mail that would leave to the log: the demo account has no SMTP server. */
async function show(
  { database, log, reply }: { readonly database: Database; readonly log: Logger; readonly reply: MailWriter },
  mailId: string,
): Promise<void> {
  const mail = await readMail(database, mailId);
  const written = mail && (await reply(mail));
  if (written === undefined || 'unsent' in written) return;
  const { from, to, cc, subject, text } = written.content;
  log.info({ from: from.address, to, cc, subject, text }, 'mail stays here: PARLEY_SMTP_URL is not set');
}
