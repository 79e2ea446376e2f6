/** The servers of a URL with several hosts, as libpq has it. */
export interface Servers {
  /** A URL for each, in their order. */
  readonly urls: readonly string[];
  /** Whether only the primary is wanted: with several servers, or if the URL says so. */
  readonly isPrimaryWanted: boolean;
}

/**
 * Reads `postgres://user@one:5432,two/database?target_session_attrs=read-write`; hosts and ports
 * may also be the lists `host` and `port` behind the question mark. Throws an Error of one line,
 * without the password.
 */
export function serversOf(url: string): Servers {
  const [, scheme = '', authority = '', rest = ''] = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? [];
  const hostsFrom = authority.lastIndexOf('@') + 1;
  const one = (host: string) => parsed(scheme + authority.slice(0, hostsFrom) + host + rest);
  const written = authority.slice(hostsFrom).split(',').map(one);
  const { searchParams } = written[0]!;
  const hosts = searchParams.get('host')?.split(',');
  const ports = searchParams.get('port')?.split(',');
  const servers = hosts?.map(() => new URL(written[0]!)) ?? written;
  const attributes = searchParams.get('target_session_attrs') ?? (servers.length > 1 ? 'read-write' : 'any');
  for (const [index, server] of servers.entries()) {
    server.searchParams.delete('target_session_attrs');
    if (hosts !== undefined) server.searchParams.set('host', hosts[index]!);
    if (ports !== undefined) server.searchParams.set('port', ports[index] ?? ports[0]!);
  }
  const isPrimaryWanted = PRIMARY.has(attributes);
  if (!isPrimaryWanted && (attributes !== 'any' || servers.length > 1)) {
    throw new Error('target_session_attrs of a database URL must be read-write: Parley writes');
  }
  return { urls: servers.map(({ href }) => href), isPrimaryWanted };
}

const PRIMARY: ReadonlySet<string> = new Set(['read-write', 'primary']);

/** Returns `host:port/database` without the password; the host of a socket is its directory. */
export function placeOf(url: string): string {
  const servers = serversOf(url).urls.map(parsed);
  const hosts = servers.map(({ host, searchParams }) => searchParams.get('host') ?? decodeURIComponent(host));
  return `${hosts.map((host) => host || 'localhost').join(',')}${servers[0]!.pathname}`;
}

export function parsed(url: string): URL {
  try {
    const result = new URL(url);
    if (/^postgres(ql)?:$/.test(result.protocol)) return result;
  } catch {
    // The error below describes the problem; it omits the URL, which may contain a password.
  }
  throw new Error('DATABASE_URL is not of the form postgres://user:password@host:port/database');
}
