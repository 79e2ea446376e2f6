import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { mailHostOf } from '../../core/features/node-settings.ts';
import type { Kind, Reader } from '../../platform/settings/reader.ts';
import { encoded, listOf, matching, PATH, secretUrl, wholeNumber } from '../../platform/settings/values.ts';

declare module '../../core/features/node-settings.ts' {
  interface NodeSettings extends MailSettings {}
}

type MailSettings = Readonly<ReturnType<typeof readMailSettings>>;

export function readMailSettings(reader: Reader, publicUrl: string | null) {
  return {
    /** In lower case: the domains that mailboxes may have; if empty, any. */
    mailDomains: reader.read('PARLEY_MAIL_DOMAINS', DOMAINS, []),
    /** Days for which mails without a message are kept. */
    mailDays: reader.read('PARLEY_MAIL_DAYS', wholeNumber(1, 3_650), 30),
    /** Null if no mail is sent. */
    smtpUrl: reader.read('PARLEY_SMTP_URL', SMTP_URL, null),
    /** The sender of digests. */
    mailFrom: reader.read('PARLEY_MAIL_FROM', MAILBOX, {
      name: 'Parley',
      address: `no-reply@${mailHostOf(publicUrl)}`,
    }),
    /** Null if mails are not signed. */
    dkim: readDkim(reader),
    /** One secret, or the new and the old one; null refuses mail over HTTP. */
    mailSecrets: reader.read('PARLEY_MAIL_SECRET', SECRETS, null),
    /** Null trusts no Authentication-Results (mail/incoming/authentication.ts). */
    mailAuthserv: reader.read('PARLEY_MAIL_AUTHSERV', AUTHSERV, null),
    /** Null if mail is not listened for. */
    smtpListen: reader.read('PARLEY_SMTP_LISTEN', SMTP_LISTEN, null),
    /** Null if no mailbox is polled. */
    imap: reader.read('PARLEY_IMAP_URL', IMAP_URL, null),
  };
}

function readDkim(reader: Reader) {
  const keyFile = reader.read('PARLEY_DKIM_KEY', PATH, null);
  const domain = reader.read('PARLEY_DKIM_DOMAIN', DOMAIN, null);
  const selector = reader.read('PARLEY_DKIM_SELECTOR', SELECTOR, null);
  if (keyFile !== null && domain !== null && selector !== null)
    return { keyFile: resolve(keyFile), domain, selector };
  if (keyFile ?? domain ?? selector) {
    reader.problem('PARLEY_DKIM_KEY, PARLEY_DKIM_DOMAIN and PARLEY_DKIM_SELECTOR must be set together');
  }
  return null;
}

const DOMAINS = listOf(
  'a list of domains separated by commas, such as example.com,help.example.com',
  (item) =>
    /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z0-9]$/i.test(item) ? item.toLowerCase() : undefined,
);

const SMTP_URL = secretUrl(
  'smtp://[user:password@]host[:port] or smtps://…, with what a URL reserves percent-encoded',
  /^smtps?:\/\/\S+$/,
);
const DOMAIN = matching('a domain such as example.com', /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i);
const AUTHSERV = matching(
  'the name with which a mail server begins its Authentication-Results, such as mx.example.com',
  /^[\w.:@-]+$/,
);
const SELECTOR = matching('a selector such as mail2026', /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i);
const MAILBOX: Kind<{ readonly name: string | null; readonly address: string }> = {
  accepts: 'an e-mail address, or a name with one: Parley <no-reply@example.com>',
  parse: (text) => {
    const [, name = '', address] =
      /^(?:([^<>\r\n]*)<)?\s*([^\s<>@,;:"]+@[^\s<>@,;:"]+?)\s*>?$/.exec(text.trim()) ?? [];
    if (address === undefined || text.includes('<') !== text.endsWith('>')) return undefined;
    return { name: name.trim().replace(/^"(.*)"$/, '$1') || null, address };
  },
};
/** At least 8 characters, because some providers of webhooks choose the secret. */
const SECRETS: Kind<readonly string[]> = {
  accepts:
    'a secret of at least 8 characters ("openssl rand -hex 32" makes a good one), or two separated by a comma',
  secret: true,
  parse: (text) => {
    const secrets = text.split(',').map((item) => item.trim());
    return secrets.length <= 2 && secrets.every((item) => item.length >= 8) ? secrets : undefined;
  },
};

const SMTP_LISTEN: Kind<SmtpListener> = {
  accepts: '<host>:<port> or lmtp://<host>:<port>, such as 127.0.0.1:2525 or [::1]:2525',
  parse: (text) => {
    const [, scheme = 'smtp', name = '', port = ''] =
      /^(?:(smtp|lmtp):\/\/)?(\[[\da-fA-F:.]+\]|[\w.-]+):(\d{1,5})$/.exec(text) ?? [];
    const host = name.replace(/^\[(.*)\]$/, '$1');
    if (host === '' || Number(port) > 65_535 || (name !== host && isIP(host) !== 6)) return undefined;
    return { protocol: scheme === 'lmtp' ? 'lmtp' : 'smtp', host, port: Number(port) };
  },
};

const IMAP_URL: Kind<ImapMailbox> = encoded({
  accepts: 'imaps://<user>:<password>@<host>[:<port>][/<mailbox>], with what a URL reserves percent-encoded',
  secret: true,
  parse: (text) => {
    const url = URL.parse(text);
    if (url === null || !/^imaps?:$/.test(url.protocol) || url.hostname === '') return undefined;
    const secure = url.protocol === 'imaps:';
    const [user, password, mailbox] = [url.username, url.password, url.pathname.slice(1)].map(percentDecoded);
    if (!user || !password || mailbox === undefined) return undefined;
    return {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? (secure ? 993 : 143) : Number(url.port),
      secure,
      user,
      password,
      mailbox: mailbox === '' ? 'INBOX' : mailbox,
    };
  },
});

/** Returns undefined if the percent-encoding is malformed. */
function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

interface SmtpListener {
  readonly protocol: 'smtp' | 'lmtp';
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

interface ImapMailbox {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (imaps); if false, STARTTLS is required except on loopback. */
  readonly secure: boolean;
  readonly user: string;
  readonly password: string;
  readonly mailbox: string;
}
