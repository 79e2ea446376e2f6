import type { RedisOptions } from 'ioredis';

/** One Redis of REDIS_URL: a server, a group that Sentinel watches, or a cluster. */
export interface RedisAddress {
  /** The name behind `#`, else the address: the same on every node, since keys are spread by it. */
  readonly name: string;
  /** Its part of REDIS_URL. */
  readonly url: string;
  /** The address for log lines, without secrets. */
  readonly shown: string;
  /** Whether Sentinel says which server is the master. */
  readonly isWatched: boolean;
  /** For a cluster, the servers to ask first, as `host:port`. */
  readonly cluster?: readonly string[];
  /** The address and credentials: a URL of ioredis, or its options for Sentinel. */
  readonly target: string | Omit<RedisOptions, 'replyMapping'>;
}

/**
 * Reads REDIS_URL: addresses separated by commas, of the forms
 * `redis://[[user]:password@]host[:port] [/database]` and
 * `redis+sentinel://[[user]:password@]host[:port],host[:port]/master[/database]`, each with
 * `rediss` for TLS and `#name` behind it; or one `redis+cluster://[[user]:password@]host[:port],…`.
 * Returns undefined for anything else.
 */
export function readRedisUrl(text: string): readonly RedisAddress[] | undefined {
  if (/\s/.test(text)) return undefined;
  // A group lists its sentinels by commas too.
  const addresses = text.split(/,(?=rediss?(?:\+(?:sentinel|cluster))?:\/\/)/).map((one) => {
    if (/^rediss?\+cluster:/.test(one)) return cluster(one);
    return /^rediss?\+/.test(one) ? watchedGroup(one) : server(one);
  });
  if (!addresses.every((address) => address !== undefined)) return undefined;
  // A cluster spreads the channels itself.
  if (addresses.length > 1 && addresses.some((one) => one.cluster !== undefined)) return undefined;
  const names = new Set(addresses.map(({ name }) => name));
  const areNames = [...names].every((name) => /^[\w.:/[\]-]{1,80}$/.test(name));
  return areNames && names.size === addresses.length ? addresses : undefined;
}

function server(text: string): RedisAddress | undefined {
  const url = /^rediss?:\/\/./.test(text) ? URL.parse(text) : null;
  // A comma is no part of a host: the next address is misspelt.
  if (url === null || url.host.includes(',')) return undefined;
  const name = nameOf(url.hash) ?? url.host + (url.pathname === '/' ? '' : url.pathname);
  url.hash = '';
  url.password = '';
  // ioredis takes options from the query, among them a password.
  url.search = '';
  return { name, url: text, shown: url.href, isWatched: false, target: text.replace(/#.*$/, '') };
}

function cluster(text: string): RedisAddress | undefined {
  const [, scheme, credentials = '', hosts = ''] = CLUSTER.exec(text) ?? [];
  const servers = hosts.split(',').map((one) => endpoint(one, '6379'));
  if (scheme === undefined || !servers.every((one) => one !== undefined)) return undefined;
  const user = credentials.replace(/(:.*)?@$/, '');
  return {
    name: 'cluster',
    url: text,
    shown: `${scheme}+cluster://${user === '' ? '' : `${user}@`}${hosts}`,
    isWatched: false,
    cluster: servers.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`),
    target: `${scheme}://${credentials}`,
  };
}

/** Returns the address of a cluster's server at `host:port`. */
export function serverOf({ target }: RedisAddress, at: string): RedisAddress {
  return server(`${target}${at}`)!;
}

const CLUSTER = /^(rediss?)\+cluster:\/\/((?:[^:@/]*(?::[^@/]*)?@)?)([^@/?#]+)\/?$/;

function watchedGroup(text: string): RedisAddress | undefined {
  const found = GROUP.exec(text);
  if (found === null) return undefined;
  const [, scheme, user = '', password, hosts = '', master = '', database = '0', query = '', hash = ''] =
    found;
  const sentinels = hosts.split(',').map((one) => endpoint(one, '26379'));
  const ofSentinels = new URLSearchParams(query);
  const isKnown = [...ofSentinels.keys()].every(
    (key) => key === 'sentinel_user' || key === 'sentinel_password',
  );
  if (!isKnown || !sentinels.every((one) => one !== undefined)) return undefined;
  const name = decoded(master);
  const username = decoded(user);
  return {
    name: nameOf(hash) ?? name,
    url: text,
    shown: `${scheme}+sentinel://${user === '' ? '' : `${user}@`}${hosts}/${master}`,
    isWatched: true,
    target: {
      sentinels,
      name,
      db: Number(database),
      ...(username !== '' && { username }),
      ...(password !== undefined && { password: decoded(password) }),
      ...option('sentinelUsername', ofSentinels.get('sentinel_user')),
      ...option('sentinelPassword', ofSentinels.get('sentinel_password')),
      ...(scheme === 'rediss' && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    },
  };
}

const GROUP =
  /^(rediss?)\+sentinel:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/?#]+)\/([^/?#]+)(?:\/(\d{1,5}))?(?:\?([^#]*))?(#.*)?$/;

function endpoint(text: string, defaultPort: string): { host: string; port: number } | undefined {
  const [, v6, host = v6, port = defaultPort] =
    /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

function option<Name extends string>(name: Name, value: string | null): { [N in Name]?: string } {
  return value === null ? {} : ({ [name]: value } as { [N in Name]: string });
}

function nameOf(hash: string): string | undefined {
  return hash.length > 1 ? decoded(hash.slice(1)) : undefined;
}

/** Decodes text; text with a stray `%` stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
