/** The syntax of the values that variables may have (docs/configuration.md). */

import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { readRedisUrl } from '../engine/redis/redis-address.ts';
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

export function matching(accepts: string, pattern: RegExp): Kind<string> {
  return { accepts, parse: (text) => (pattern.test(text) ? text : undefined) };
}

/** Returns the kind of a secret URL, whose parts the driver checks when it connects. */
export function secretUrl(accepts: string, pattern: RegExp): Kind<string> {
  return encoded({ ...matching(accepts, pattern), secret: true });
}

/** Returns the kind of URLs, separated by commas, with reserved characters percent-encoded. */
export function encoded<T>(kind: Kind<T>): Kind<T> {
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

/** Returns the kind of a list with commas; ignores white space around items. */
export function listOf(accepts: string, parseItem: (item: string) => string | undefined): Kind<string[]> {
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
export const ADMIN_PORT: Kind<number | 'off'> = {
  accepts: 'a port, from 0 to 65535, or off',
  parse: (text) => (text === 'off' ? text : PORT_NUMBER.parse(text)),
};
export const HOST = matching('an address or host name to listen on', /^[\w.:%-]+$/);
export const LOG_LEVEL = oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']);
export const ACCEPTED: Kind<boolean> = {
  accepts: 'accept',
  parse: (text) => (text === 'accept' ? true : undefined),
};
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
export const SECRET: Kind<string> = {
  accepts: 'a secret of at least 32 characters ("openssl rand -hex 32" makes one)',
  secret: true,
  parse: (text) => (text.length >= 32 ? text : undefined),
};

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

export const ADDRESSES = listOf(
  'a list of addresses, networks (10.0.0.0/8) or host names separated by commas, each with or without :port',
  (item) => {
    const [, host = '', bits, port] = /^(\[[^\]]+\]|[^/]*?)(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/.exec(item) ?? [];
    const bare = isIP(item) === 6 ? item : host.replace(/^\[(.*)\]$/, '$1');
    const version = isIP(bare);
    if (version === 0 && (bits !== undefined || !isHostName(bare))) return undefined;
    if (bits !== undefined && Number(bits) > (version === 4 ? 32 : 128)) return undefined;
    return Number(port ?? 1) >= 1 && Number(port ?? 1) <= 65_535 ? item : undefined;
  },
);

/** Whether a text is a name of a host. One that ends in a number was meant as an address. */
function isHostName(text: string): boolean {
  const labels = text.split('.');
  return (
    labels.every((label) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(label)) && !/^\d+$/.test(labels.at(-1)!)
  );
}

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
