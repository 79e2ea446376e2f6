/** The syntax of the values that variables may have (docs/configuration.md). */

import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { readRedisUrl } from '../engine/redis-address.ts';
import type { Kind } from './reader.ts';

const MOST_PROCESSES = 256;

export function wholeNumber(least: number, most: number): Kind<number> {
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
  return encoded({ ...matching(accepts, pattern), secret: true });
}

/** A URL, or several by commas, with what a URL reserves percent-encoded. */
function encoded<T>(kind: Kind<T>): Kind<T> {
  return {
    ...kind,
    parse: (text) => (unencodedIn(text) === undefined ? kind.parse(text) : undefined),
    explain: unencodedIn,
  };
}

/**
 * Names a character that ends the user and password of a URL before their `@`, or a percent sign
 * that begins no code.
 */
function unencodedIn(urls: string): string | undefined {
  for (const url of urls.split(/,(?=[\w+]+:\/\/)/)) {
    const [character] =
      /(?<=^[\w+]+:\/\/[^/?#@]*)([/#](?=[^?]*@)|\?(?=[^=]*@))/.exec(url) ??
      /%(?![\da-f]{2})/i.exec(url) ??
      [];
    if (character === undefined) continue;
    return `${JSON.stringify(character)} in the user or password must be written as ${encodeURIComponent(character)}`;
  }
  return undefined;
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

export const TEXT: Kind<string> = { accepts: 'some text', secret: true, parse: (text) => text };
export const PATH = matching('a path', /^[^\0]+$/);
/** `auto` is one for each core that this process may use. */
export const PROCESSES: Kind<number> = {
  accepts: `auto or ${wholeNumber(1, MOST_PROCESSES).accepts}`,
  parse: (text) =>
    text === 'auto'
      ? Math.min(availableParallelism(), MOST_PROCESSES)
      : wholeNumber(1, MOST_PROCESSES).parse(text),
};
export const PORT_NUMBER = wholeNumber(0, 65_535);
export const HOST = matching('an address or host name to listen on', /^[\w.:%-]+$/);
export const LOG_LEVEL = oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']);
export const SWITCH: Kind<boolean> = {
  accepts: 'on or off',
  parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
};
export const POSTGRES_URL = secretUrl(
  'postgres://[user[:password]@]host[:port][,host[:port]…]/database',
  /^postgres(ql)?:\/\/\S+$/,
);
export const REDIS_URL: Kind<string> = encoded({
  accepts:
    'redis://[[user]:password@]host[:port][/database], redis+sentinel://host[:port],host[:port]/master, redis+cluster://host[:port],host[:port], or several by commas, each with a name of its own; rediss for TLS, #name behind one names it',
  secret: true,
  parse: (text) => (readRedisUrl(text) === undefined ? undefined : text),
});
export const SMTP_URL = secretUrl(
  'smtp://[user:password@]host[:port] or smtps://…, with what a URL reserves percent-encoded',
  /^smtps?:\/\/\S+$/,
);
export const DOMAIN = matching('a domain such as example.com', /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i);
export const AUTHSERV = matching(
  'the name with which a mail server begins its Authentication-Results, such as mx.example.com',
  /^[\w.:@-]+$/,
);
export const SELECTOR = matching('a selector such as mail2026', /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i);
export const MAILBOX: Kind<{ readonly name: string | null; readonly address: string }> = {
  accepts: 'an e-mail address, or a name with one: Parley <no-reply@example.com>',
  parse: (text) => {
    const [, name = '', address] =
      /^(?:([^<>\r\n]*)<)?\s*([^\s<>@,;:"]+@[^\s<>@,;:"]+?)\s*>?$/.exec(text.trim()) ?? [];
    if (address === undefined || text.includes('<') !== text.endsWith('>')) return undefined;
    return { name: name.trim().replace(/^"(.*)"$/, '$1') || null, address };
  },
};
export const SECRET: Kind<string> = {
  accepts: 'a secret of at least 32 characters ("openssl rand -hex 32" makes one)',
  secret: true,
  parse: (text) => (text.length >= 32 ? text : undefined),
};

/** At least 8 characters, because some providers of webhooks choose the secret. */
export const SECRETS: Kind<readonly string[]> = {
  accepts:
    'a secret of at least 8 characters ("openssl rand -hex 32" makes a good one), or two separated by a comma',
  secret: true,
  parse: (text) => {
    const secrets = text.split(',').map((item) => item.trim());
    return secrets.length <= 2 && secrets.every((item) => item.length >= 8) ? secrets : undefined;
  },
};

export const SMTP_LISTEN: Kind<SmtpListener> = {
  accepts: '<host>:<port> or lmtp://<host>:<port>, such as 127.0.0.1:2525 or [::1]:2525',
  parse: (text) => {
    const [, scheme = 'smtp', name = '', port = ''] =
      /^(?:(smtp|lmtp):\/\/)?(\[[\da-fA-F:.]+\]|[\w.-]+):(\d{1,5})$/.exec(text) ?? [];
    const host = name.replace(/^\[(.*)\]$/, '$1');
    if (host === '' || Number(port) > 65_535 || (name !== host && isIP(host) !== 6)) return undefined;
    return { protocol: scheme === 'lmtp' ? 'lmtp' : 'smtp', host, port: Number(port) };
  },
};

export const IMAP_URL: Kind<ImapMailbox> = encoded({
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

/** The content of a PEM is checked when the key is opened. */
export const PRIVATE_KEY: Kind<string> = {
  accepts: 'a private ed25519 key: PEM ("openssl genpkey -algorithm ed25519") or base64 of its 32 bytes',
  secret: true,
  multiline: true,
  parse: (text) => (/-----BEGIN PRIVATE KEY-----/.test(text) || isKey(text) ? text : undefined),
};

export const PUBLIC_KEYS = listOf(
  'a list of public ed25519 keys separated by commas, each base64 of 32 bytes',
  (item) => (isKey(item) ? item : undefined),
);

function isKey(text: string): boolean {
  return /^[\w+/-]{43}=?$/.test(text);
}

export const WEB_URL: Kind<string> = {
  accepts: 'a URL that begins with http:// or https://',
  parse: (text) => {
    const url = URL.parse(text);
    // The parser leaves out blanks around a URL.
    return url !== null && /^https?:\/\/\S+$/i.test(text) ? text.replace(/\/+$/, '') : undefined;
  },
};

export const ORIGINS = listOf(
  'a list of origins separated by commas, such as https://app.example.com',
  (item) => (URL.parse(item)?.origin === item ? item : undefined),
);

export const DOMAINS = listOf(
  'a list of domains separated by commas, such as example.com,help.example.com',
  (item) =>
    /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z0-9]$/i.test(item) ? item.toLowerCase() : undefined,
);

export const ADDRESSES = listOf(
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

export const CONTACT: Kind<string> = {
  accepts: 'a URL that begins with https://, or mailto:<address>',
  parse: (text) => {
    const isUrl = /^https:\/\/\S+$/i.test(text) && URL.parse(text) !== null;
    return isUrl || /^mailto:[^\s@]+@[^\s@]+$/.test(text) ? text : undefined;
  },
};

export const RATE_LIMIT: Kind<{ readonly requests: number; readonly seconds: number } | null> = {
  accepts: 'off or <requests>/<seconds>, such as 600/60',
  parse: (text) => {
    if (text === 'off') return null;
    const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,5})$/.exec(text) ?? [];
    return requests === undefined ? undefined : { requests: Number(requests), seconds: Number(seconds) };
  },
};

export const REGISTRATION: Kind<'closed' | 'open' | number> = {
  accepts: 'closed, open or a number of accounts',
  parse: (text) => {
    if (text === 'closed' || text === 'open') return text;
    return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
  },
};

export const BYTES: Kind<number | null> = {
  accepts: 'off or a number of bytes',
  parse: (text) => {
    if (text === 'off') return null;
    return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
  },
};

const MODEL_TIERS = ['frontier', 'high', 'balanced', 'cheap', 'legacy'] as const;
type ModelTier = (typeof MODEL_TIERS)[number];
const MODEL_PROVIDERS = ['openai', 'anthropic', 'openai-compatible', 'demo'] as const;

export const MODEL_CHAINS: Kind<Readonly<Partial<Record<ModelTier, readonly ModelChoice[]>>>> = {
  accepts: `a JSON object of lists of {"provider":"${MODEL_PROVIDERS.join('|')}","model":"…","base_url" (of openai-compatible),"api_key"?,"context_tokens"?,"input_price"?,"output_price"?} by tier (${MODEL_TIERS.join(', ')})`,
  secret: true,
  multiline: true,
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

interface ModelChoice {
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
