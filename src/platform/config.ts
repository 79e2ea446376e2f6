/**
 * The environment, read once (docs/configuration.md). Only this file may mention process.env; other
 * modules receive the frozen result. Every variable is optional; an empty one counts as unset.
 * Long, because the syntax of all values is in one place.
 */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { nearestName } from '../contract/protocol/schema/nearest-name.ts';
import { SOCKET_LIMITS, type SocketLimits } from '../contract/protocol/socket/socket-limits.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Config {
  /** `PORT`; 0 takes a free one. */
  readonly port: number;
  /** `HOST`: loopback while demo.json holds secrets of the demo account, else every address. */
  readonly host: string;
  /** `PARLEY_PUBLIC_URL` without a trailing slash; null if callers use the address listened on. */
  readonly publicUrl: string | null;
  /** `DATABASE_URL`; null for the embedded Postgres. */
  readonly databaseUrl: string | null;
  /** `REDIS_URL`; null for the in-process engine. */
  readonly redisUrl: string | null;
  /** `PARLEY_DATA_DIR`, absolute. */
  readonly dataDir: string;
  /** `PARLEY_DEMO`: whether to seed the demo account and to write demo.json. */
  readonly demo: boolean;
  /** `PARLEY_DEMO_DAY`: whether the demo account has a day of conversations. */
  readonly demoDay: boolean;
  /** `PARLEY_TOKEN_SECRET`; null for one that is made once and kept in the database. */
  readonly tokenSecret: string | null;
  /** `PARLEY_AUDIT_KEY`; null for one that is made once and kept in the data directory. */
  readonly auditKey: string | null;
  /** `PARLEY_AUDIT_OLD_KEYS`: earlier public keys. */
  readonly auditOldKeys: readonly string[];
  /** `PARLEY_ALLOWED_ORIGINS`, in the form that browsers send. */
  readonly allowedOrigins: readonly string[];
  /** `PARLEY_RATE_LIMIT` per credential; null for no limits at all. */
  readonly rateLimit: RateLimit | null;
  /** `PARLEY_REGISTRATION`; a number allows that many accounts. */
  readonly registration: 'closed' | 'open' | number;
  /** `PARLEY_MAIL_DOMAINS`, in lower case: the domains that inboxes may have; if empty, any. */
  readonly mailDomains: readonly string[];
  /** `PARLEY_ADMIN_PORT`, the only one with /metrics; it has the probes too. 0 takes a free one. */
  readonly adminPort: number | null;
  /** `PARLEY_ADMIN_HOST`; `host` by default (docs/decisions.md#the-admin-port). */
  readonly adminHost: string;
  /** `PARLEY_DOCS_URL` without a trailing slash; null for this server's own /docs. */
  readonly docsUrl: string | null;
  /** `PARLEY_REQUEST_LOG_URL`, for `request_log_url` in errors; may contain `{request_id}`. */
  readonly requestLogUrl: string | null;
  /** `PARLEY_RESTORE_DAYS`: how long a deleted conversation can be restored before it is purged. */
  readonly restoreDays: number;
  /** `PARLEY_WEBHOOK_DAYS`: how long webhook deliveries are kept that wait for nothing. */
  readonly webhookDays: number;
  /** `PARLEY_MAIL_DAYS`: how long mails are kept that carry no message. */
  readonly mailDays: number;
  readonly logLevel: LogLevel;
  /** `PARLEY_RETENTION_SWEEP_MS`: from one sweep for what is older than its policy to the next. */
  readonly retentionSweepMs: number;
  /** `PARLEY_STORED_BYTES_PER_ACCOUNT`: of files; null for no limit. */
  readonly storedBytesPerAccount: number | null;
  /** `PARLEY_DRAIN_DELAY_MS`: how long a stop is announced by `/readyz` before anything ends. */
  readonly drainDelayMs: number;
  /** `PARLEY_DRAIN_MS`: how long a stop waits for requests and sockets. */
  readonly drainMs: number;
  /** Paths `PARLEY_TLS_CERT` and `PARLEY_TLS_KEY`; null for plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly models: ModelsConfig;
  /** `PARLEY_FETCH_ALLOW`: addresses, networks or names, each with or without a port. */
  readonly fetchAllow: readonly string[];
  /** `PARLEY_VAPID_SUBJECT`: the contact that push services get for questions about this server. */
  readonly vapidSubject: string;
  /** `PARLEY_SMTP_URL`; null if no mail is sent. */
  readonly smtpUrl: string | null;
  /** `PARLEY_MAIL_FROM`, the sender of digests. */
  readonly mailFrom: { readonly name: string | null; readonly address: string };
  /** `PARLEY_DKIM_*`; null if mails are not signed. */
  readonly dkim: { readonly keyFile: string; readonly domain: string; readonly selector: string } | null;
  /** `PARLEY_MAIL_SECRET`: one secret, or the new and the old one; null refuses mail over HTTP. */
  readonly mailSecrets: readonly string[] | null;
  /** `PARLEY_MAIL_AUTHSERV`; null trusts no Authentication-Results (mail/authentication.ts). */
  readonly mailAuthserv: string | null;
  /** `PARLEY_SMTP_LISTEN`; null if mail is not listened for. */
  readonly smtpListen: SmtpListenConfig | null;
  /** `PARLEY_IMAP_URL`; null if no mailbox is polled. */
  readonly imap: ImapConfig | null;
  /** `PARLEY_S3_*`; null if uploaded files are stored in the data directory. */
  readonly s3: S3Config | null;
  /** `PARLEY_SOCKET_*`. */
  readonly socket: SocketLimits;
  /** True under `npm start`, which ends this process when it ends, unless npm is killed. */
  readonly startedByNpm: boolean;
}

export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

export interface ModelsConfig {
  readonly openaiApiKey: string | null;
  readonly anthropicApiKey: string | null;
  /** `PARLEY_MODELS`: the models of a tier in the order of tries; null if the keys above decide. */
  readonly chains: Readonly<Partial<Record<ModelTier, readonly ModelChoice[]>>> | null;
}

export interface ModelChoice {
  readonly provider: (typeof MODEL_PROVIDERS)[number];
  readonly model: string;
  /** The server; required by openai-compatible, for others it replaces the vendor's own URL. */
  readonly base_url?: string;
  /** Replaces OPENAI_API_KEY or ANTHROPIC_API_KEY. */
  readonly api_key?: string;
  /** Tokens of a prompt and its answer together. */
  readonly context_tokens?: number;
  /** US dollars per million tokens. */
  readonly input_price?: number;
  readonly output_price?: number;
}

export interface SmtpListenConfig {
  readonly protocol: 'smtp' | 'lmtp';
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface ImapConfig {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (imaps); if false, STARTTLS is required except on loopback. */
  readonly secure: boolean;
  readonly user: string;
  readonly password: string;
  readonly mailbox: string;
}

export interface S3Config {
  readonly bucket: string;
  readonly region: string;
  /** Null for AWS itself. With an endpoint, buckets are addressed by path. */
  readonly endpoint: string | null;
  /** Null for those of the machine's role. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const MODEL_TIERS = ['frontier', 'high', 'balanced', 'cheap', 'legacy'] as const;
type ModelTier = (typeof MODEL_TIERS)[number];
const MODEL_PROVIDERS = ['openai', 'anthropic', 'openai-compatible', 'demo'] as const;

/** All problems of the environment, one per line; never shows the value of a secret. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Throws ConfigError. */
export function loadConfig(): Config {
  return readConfig(process.env);
}

/** Throws ConfigError that names every bad value and every unknown `PARLEY_*` key at once. */
export function readConfig(env: Environment): Config {
  const reader = new Reader(env);
  const databaseUrl = reader.read('DATABASE_URL', POSTGRES_URL, null);
  const demo = reader.read('PARLEY_DEMO', SWITCH, databaseUrl === null);
  const host = reader.read('HOST', HOST, demo ? '127.0.0.1' : '0.0.0.0');
  const publicUrl = reader.read('PARLEY_PUBLIC_URL', WEB_URL, null);
  const config: Config = {
    port: reader.read('PORT', PORT_NUMBER, 8080),
    host,
    publicUrl,
    databaseUrl,
    redisUrl: reader.read('REDIS_URL', REDIS_URL, null),
    dataDir: resolve(reader.read('PARLEY_DATA_DIR', PATH, './.data')),
    demo,
    demoDay: reader.read('PARLEY_DEMO_DAY', SWITCH, databaseUrl === null),
    tokenSecret: reader.read('PARLEY_TOKEN_SECRET', SECRET, null),
    auditKey: reader.read('PARLEY_AUDIT_KEY', PRIVATE_KEY, null),
    auditOldKeys: reader.read('PARLEY_AUDIT_OLD_KEYS', PUBLIC_KEYS, []),
    allowedOrigins: reader.read('PARLEY_ALLOWED_ORIGINS', ORIGINS, []),
    rateLimit: reader.read('PARLEY_RATE_LIMIT', RATE_LIMIT, { requests: 600, seconds: 60 }),
    registration: reader.read('PARLEY_REGISTRATION', REGISTRATION, 'closed'),
    mailDomains: reader.read('PARLEY_MAIL_DOMAINS', DOMAINS, []),
    ...readAdmin(reader, host),
    docsUrl: reader.read('PARLEY_DOCS_URL', WEB_URL, null),
    requestLogUrl: reader.read('PARLEY_REQUEST_LOG_URL', WEB_URL, null),
    restoreDays: reader.read('PARLEY_RESTORE_DAYS', wholeNumber(1, 3_650), 30),
    webhookDays: reader.read('PARLEY_WEBHOOK_DAYS', wholeNumber(1, 3_650), 30),
    mailDays: reader.read('PARLEY_MAIL_DAYS', wholeNumber(1, 3_650), 30),
    logLevel: reader.read('PARLEY_LOG_LEVEL', LOG_LEVEL, 'info'),
    retentionSweepMs: reader.read('PARLEY_RETENTION_SWEEP_MS', wholeNumber(100, 86_400_000), 600_000),
    storedBytesPerAccount: reader.read('PARLEY_STORED_BYTES_PER_ACCOUNT', BYTES, 100 * 1024 ** 3),
    // As a rule, no load balancer sends requests to a node with the demo account.
    drainDelayMs: reader.read('PARLEY_DRAIN_DELAY_MS', wholeNumber(0, 600_000), demo ? 0 : 5_000),
    drainMs: reader.read('PARLEY_DRAIN_MS', wholeNumber(0, 600_000), 10_000),
    tls: readTls(reader),
    models: readModels(reader),
    fetchAllow: reader.read('PARLEY_FETCH_ALLOW', ADDRESSES, []),
    vapidSubject: reader.read('PARLEY_VAPID_SUBJECT', CONTACT, contactOf(publicUrl)),
    smtpUrl: reader.read('PARLEY_SMTP_URL', SMTP_URL, null),
    mailFrom: reader.read('PARLEY_MAIL_FROM', MAILBOX, { name: 'Parley', address: noReplyOf(publicUrl) }),
    dkim: readDkim(reader),
    mailSecrets: reader.read('PARLEY_MAIL_SECRET', SECRETS, null),
    mailAuthserv: reader.read('PARLEY_MAIL_AUTHSERV', AUTHSERV, null),
    smtpListen: reader.read('PARLEY_SMTP_LISTEN', SMTP_LISTEN, null),
    imap: reader.read('PARLEY_IMAP_URL', IMAP_URL, null),
    s3: readS3(reader),
    socket: readSocketLimits(reader),
    startedByNpm: env.npm_lifecycle_event === 'start',
  };
  reader.finish();
  return deepFreeze(config);
}

/** The syntax of a value: `parse` returns undefined for text that is not accepted. */
interface Kind<T> {
  readonly accepts: string;
  /** If true, the value must not appear in logs. */
  readonly secret?: boolean;
  readonly parse: (text: string) => T | undefined;
}

class Reader {
  readonly #env: Environment;
  readonly #known = new Set<string>();
  readonly #problems: string[] = [];

  constructor(env: Environment) {
    this.#env = env;
  }

  read<T, Default>(name: string, kind: Kind<T>, otherwise: Default): T | Default {
    this.#known.add(name);
    const text = this.#env[name];
    if (text === undefined || text === '') return otherwise;
    const value = kind.parse(text);
    if (value !== undefined) return value;
    this.problem(`${name} must be ${kind.accepts}${kind.secret ? '' : `, not ${JSON.stringify(text)}`}`);
    return otherwise;
  }

  problem(line: string): void {
    this.#problems.push(line);
  }

  /** Throws ConfigError for all problems found and unknown names that look like Parley's. */
  finish(): void {
    for (const name of Object.keys(this.#env).sort()) {
      if (this.#known.has(name)) continue;
      const meant = this.#nameMeantBy(name);
      const ours = name.startsWith('PARLEY_');
      if (meant !== undefined) {
        const remedy = ours ? '' : ' Rename it or unset it.';
        this.problem(`${name} is not a variable of Parley: did you mean ${meant}?${remedy}`);
      } else if (ours) {
        this.problem(`${name} is not a variable of Parley; accepted are ${this.#namesLike(name).join(', ')}`);
      }
    }
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
  }

  /** Returns the known name that `name` misspells. A name that is set itself was not meant. */
  #nameMeantBy(name: string): string | undefined {
    const free = [...this.#known].filter((known) => !this.#env[known]);
    const withoutPrefix = name.replace(/^PARLEY_/, '');
    return free.find((known) => known === withoutPrefix) ?? nearestName(name, free);
  }

  /** Returns the names of the same family (PARLEY_SOCKET_…), else all, large families as one. */
  #namesLike(name: string): string[] {
    const names = [...this.#known].filter((known) => known.startsWith('PARLEY_')).sort();
    const family = /^PARLEY_[^_]+_/.exec(name)?.[0];
    const relatives = names.filter((known) => family !== undefined && known.startsWith(family));
    if (relatives.length > 0) return relatives;
    return [...new Set(names.map((known) => known.replace(/^(PARLEY_(S3|SOCKET)_).*/, '$1*')))];
  }
}

function readModels(reader: Reader): ModelsConfig {
  const openaiApiKey = reader.read('OPENAI_API_KEY', TEXT, null);
  const anthropicApiKey = reader.read('ANTHROPIC_API_KEY', TEXT, null);
  const chains = reader.read('PARLEY_MODELS', MODEL_CHAINS, null);
  const choices = Object.values(chains ?? {}).flat();
  for (const [provider, key] of Object.entries({ openai: openaiApiKey, anthropic: anthropicApiKey })) {
    const keyless = choices.filter((one) => one.provider === provider && one.api_key === undefined);
    if (key !== null || keyless.length === 0) continue;
    reader.problem(`PARLEY_MODELS: ${provider} needs "api_key" or ${provider.toUpperCase()}_API_KEY`);
  }
  return { openaiApiKey, anthropicApiKey, chains };
}

function readAdmin(reader: Reader, host: string): Pick<Config, 'adminPort' | 'adminHost'> {
  const adminPort = reader.read('PARLEY_ADMIN_PORT', PORT_NUMBER, null);
  const adminHost = reader.read('PARLEY_ADMIN_HOST', HOST, null);
  if (adminHost !== null && adminPort === null) {
    reader.problem('PARLEY_ADMIN_HOST has no effect without PARLEY_ADMIN_PORT: set both or neither');
  }
  return { adminPort, adminHost: adminHost ?? host };
}

function readTls(reader: Reader): Config['tls'] {
  const certFile = reader.read('PARLEY_TLS_CERT', PATH, null);
  const keyFile = reader.read('PARLEY_TLS_KEY', PATH, null);
  if (certFile !== null && keyFile !== null)
    return { certFile: resolve(certFile), keyFile: resolve(keyFile) };
  if (certFile !== keyFile) {
    reader.problem('PARLEY_TLS_CERT and PARLEY_TLS_KEY must be set together: two paths of PEM files');
  }
  return null;
}

function readDkim(reader: Reader): Config['dkim'] {
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

function noReplyOf(publicUrl: string | null): string {
  const { hostname } = new URL(publicUrl ?? 'http://localhost');
  return `no-reply@${isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0 ? hostname : 'localhost'}`;
}

/** Apple refuses a subject that is neither a real https URL nor a mail address. */
function contactOf(publicUrl: string | null): string {
  const { protocol, origin, hostname } = new URL(publicUrl ?? 'http://localhost');
  if (protocol === 'https:') return origin;
  const isAddress = isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;
  return `mailto:postmaster@${isAddress ? 'localhost' : hostname}`;
}

function readS3(reader: Reader): S3Config | null {
  const bucket = reader.read('PARLEY_S3_BUCKET', TEXT, null);
  const region = reader.read('PARLEY_S3_REGION', TEXT, null);
  const endpoint = reader.read('PARLEY_S3_ENDPOINT', WEB_URL, null);
  const accessKeyId = reader.read('PARLEY_S3_ACCESS_KEY_ID', TEXT, null);
  const secretAccessKey = reader.read('PARLEY_S3_SECRET_ACCESS_KEY', TEXT, null);
  if ((accessKeyId === null) !== (secretAccessKey === null)) {
    reader.problem('PARLEY_S3_ACCESS_KEY_ID and PARLEY_S3_SECRET_ACCESS_KEY must be set together');
  }
  if (bucket === null) {
    if (region ?? endpoint ?? accessKeyId ?? secretAccessKey) {
      reader.problem('PARLEY_S3_BUCKET must be set when another PARLEY_S3_* is: the name of a bucket');
    }
    return null;
  }
  const credentials =
    accessKeyId === null || secretAccessKey === null ? null : { accessKeyId, secretAccessKey };
  return { bucket, region: region ?? 'us-east-1', endpoint, credentials };
}

function wholeNumber(least: number, most: number): Kind<number> {
  return {
    accepts: `a whole number from ${least} to ${most}`,
    parse: (text) => {
      const value = Number(text);
      return /^\d{1,15}$/.test(text) && value >= least && value <= most ? value : undefined;
    },
  };
}

function matching(accepts: string, pattern: RegExp): Kind<string> {
  return { accepts, parse: (text) => (pattern.test(text) ? text : undefined) };
}

/** The driver checks the parts of the URL when it connects. */
function secretUrl(accepts: string, pattern: RegExp): Kind<string> {
  return { ...matching(accepts, pattern), secret: true };
}

function oneOf<const V extends readonly string[]>(values: V): Kind<V[number]> {
  return { accepts: `one of ${values.join(', ')}`, parse: (text) => values.find((value) => value === text) };
}

/** Comma-separated; white space around an item is ignored. */
function listOf(accepts: string, parseItem: (item: string) => string | undefined): Kind<string[]> {
  return {
    accepts,
    parse: (text) => {
      const items = text.split(',').map((item) => parseItem(item.trim()));
      return items.every((item) => item !== undefined) ? items : undefined;
    },
  };
}

const TEXT: Kind<string> = { accepts: 'some text', secret: true, parse: (text) => text };
const PATH = matching('a path', /^[^\0]+$/);
const PORT_NUMBER = wholeNumber(0, 65_535);
const HOST = matching('an address or host name to listen on', /^[\w.:%-]+$/);
const LOG_LEVEL = oneOf(LOG_LEVELS);
const SWITCH: Kind<boolean> = {
  accepts: 'on or off',
  parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
};
const POSTGRES_URL = secretUrl(
  'postgres://[user[:password]@]host[:port]/database',
  /^postgres(ql)?:\/\/\S+$/,
);
const REDIS_URL = secretUrl(
  'redis://[[user]:password@]host[:port][/database] or rediss://…',
  /^rediss?:\/\/\S+$/,
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
const MAILBOX: Kind<Config['mailFrom']> = {
  accepts: 'an e-mail address, or a name with one: Parley <no-reply@example.com>',
  parse: (text) => {
    const [, name = '', address] =
      /^(?:([^<>\r\n]*)<)?\s*([^\s<>@,;:"]+@[^\s<>@,;:"]+?)\s*>?$/.exec(text.trim()) ?? [];
    if (address === undefined || text.includes('<') !== text.endsWith('>')) return undefined;
    return { name: name.trim().replace(/^"(.*)"$/, '$1') || null, address };
  },
};
const SECRET: Kind<string> = {
  accepts: 'a secret of at least 32 characters ("openssl rand -hex 32" makes one)',
  secret: true,
  parse: (text) => (text.length >= 32 ? text : undefined),
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

const SMTP_LISTEN: Kind<SmtpListenConfig> = {
  accepts: '<host>:<port> or lmtp://<host>:<port>, such as 127.0.0.1:2525 or [::1]:2525',
  parse: (text) => {
    const [, scheme = 'smtp', name = '', port = ''] =
      /^(?:(smtp|lmtp):\/\/)?(\[[\da-fA-F:.]+\]|[\w.-]+):(\d{1,5})$/.exec(text) ?? [];
    const host = name.replace(/^\[(.*)\]$/, '$1');
    if (host === '' || Number(port) > 65_535 || (name !== host && isIP(host) !== 6)) return undefined;
    return { protocol: scheme === 'lmtp' ? 'lmtp' : 'smtp', host, port: Number(port) };
  },
};

const IMAP_URL: Kind<ImapConfig> = {
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
};

/** Returns undefined if the percent-encoding is malformed. */
function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The content of a PEM is checked when the key is opened. */
const PRIVATE_KEY: Kind<string> = {
  accepts: 'a private ed25519 key: PEM ("openssl genpkey -algorithm ed25519") or base64 of its 32 bytes',
  secret: true,
  parse: (text) => (/-----BEGIN PRIVATE KEY-----/.test(text) || isKey(text) ? text : undefined),
};

const PUBLIC_KEYS = listOf(
  'a list of public ed25519 keys separated by commas, each base64 of 32 bytes',
  (item) => (isKey(item) ? item : undefined),
);

function isKey(text: string): boolean {
  return /^[\w+/-]{43}=?$/.test(text);
}

const WEB_URL: Kind<string> = {
  accepts: 'a URL that begins with http:// or https://',
  parse: (text) => {
    const url = URL.parse(text);
    return url !== null && /^https?:$/.test(url.protocol) ? text.replace(/\/+$/, '') : undefined;
  },
};

const ORIGINS = listOf('a list of origins separated by commas, such as https://app.example.com', (item) =>
  URL.parse(item)?.origin === item ? item : undefined,
);

const DOMAINS = listOf(
  'a list of domains separated by commas, such as example.com,help.example.com',
  (item) =>
    /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z0-9]$/i.test(item) ? item.toLowerCase() : undefined,
);

const ADDRESSES = listOf(
  'a list of addresses, networks (10.0.0.0/8) or host names separated by commas, each with or without :port',
  (item) => {
    const [, host = '', bits, port] = /^(\[[^\]]+\]|[^/]*?)(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/.exec(item) ?? [];
    const bare = isIP(item) === 6 ? item : host.replace(/^\[(.*)\]$/, '$1');
    const version = isIP(bare);
    if (version === 0 && (bits !== undefined || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(bare)))
      return undefined;
    if (bits !== undefined && Number(bits) > (version === 4 ? 32 : 128)) return undefined;
    return Number(port ?? 0) <= 65_535 ? item : undefined;
  },
);

const CONTACT: Kind<string> = {
  accepts: 'a URL that begins with https://, or mailto:<address>',
  parse: (text) => {
    const isContact = /^mailto:[^\s@]+@[^\s@]+$/.test(text) || URL.parse(text)?.protocol === 'https:';
    return isContact ? text : undefined;
  },
};

const RATE_LIMIT: Kind<RateLimit | null> = {
  accepts: 'off or <requests>/<seconds>, such as 600/60',
  parse: (text) => {
    if (text === 'off') return null;
    const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,5})$/.exec(text) ?? [];
    return requests === undefined ? undefined : { requests: Number(requests), seconds: Number(seconds) };
  },
};

const REGISTRATION: Kind<Config['registration']> = {
  accepts: 'closed, open or a number of accounts',
  parse: (text) => {
    if (text === 'closed' || text === 'open') return text;
    return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
  },
};

const BYTES: Kind<number | null> = {
  accepts: 'off or a number of bytes',
  parse: (text) => {
    if (text === 'off') return null;
    return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
  },
};

const MODEL_CHAINS: Kind<NonNullable<ModelsConfig['chains']>> = {
  accepts: `a JSON object of lists of {"provider":"${MODEL_PROVIDERS.join('|')}","model":"…","base_url" (of openai-compatible),"api_key"?,"context_tokens"?,"input_price"?,"output_price"?} by tier (${MODEL_TIERS.join(', ')})`,
  secret: true,
  parse: (text) => {
    const chains = parseJson(text);
    if (!isObject(chains)) return undefined;
    for (const [tier, chain] of Object.entries(chains)) {
      if (!MODEL_TIERS.some((known) => known === tier)) return undefined;
      if (!Array.isArray(chain) || chain.length === 0 || !chain.every(isModelChoice)) return undefined;
    }
    return chains;
  },
};

function isModelChoice(value: unknown): value is ModelChoice {
  if (!isObject(value) || !MODEL_PROVIDERS.some((known) => known === value.provider)) return false;
  const { provider, ...fields } = value;
  const needed = provider === 'openai-compatible' ? ['model', 'base_url'] : ['model'];
  if (!needed.every((name) => Object.hasOwn(fields, name))) return false;
  return Object.entries(fields).every(([name, field]) => MODEL_FIELDS.get(name)?.(field));
}

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isPrice = (value: unknown) => typeof value === 'number' && value >= 0;
const MODEL_FIELDS = new Map<string, (value: unknown) => boolean>([
  ['model', isText],
  ['api_key', isText],
  ['base_url', (value) => typeof value === 'string' && WEB_URL.parse(value) !== undefined],
  // An agent's instructions alone take more than fewer tokens would hold.
  ['context_tokens', (value) => Number.isSafeInteger(value) && Number(value) >= 2_000],
  ['input_price', isPrice],
  ['output_price', isPrice],
]);

/** `heartbeatMs`, for example, is PARLEY_SOCKET_HEARTBEAT_MS. */
function readSocketLimits(reader: Reader): SocketLimits {
  const entries = Object.entries(SOCKET_LIMITS).map(([name, byDefault]) => {
    const variable = `PARLEY_SOCKET_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
    return [name, reader.read(variable, wholeNumber(1, 2_000_000_000), byDefault)];
  });
  return Object.fromEntries(entries);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
