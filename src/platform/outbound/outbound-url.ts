/**
 * A condition of the error table: `invalid_format` and `validation_failed` (not a URL that may be
 * requested), `insufficient_permissions` (a forbidden address or host), `connection_error` (no
 * connection, or it broke), `timeout`, `external_service_error` (a response that cannot be read).
 */
export type OutboundCondition =
  | 'invalid_format'
  | 'validation_failed'
  | 'insufficient_permissions'
  | 'connection_error'
  | 'timeout'
  | 'external_service_error';

/** A request that was refused or failed. The message holds nothing that the other host sent. */
export class OutboundError extends Error {
  readonly condition: OutboundCondition;

  constructor(condition: OutboundCondition, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'OutboundError';
    this.condition = condition;
  }
}

/** Accepts http and https without credentials. Throws `invalid_format` or `validation_failed`. */
export function readOutboundUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new OutboundError('invalid_format', 'This is not an absolute URL.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new OutboundError('validation_failed', 'Only http and https can be fetched.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutboundError('validation_failed', 'The URL must not hold a user name or password.');
  }
  return url;
}

export interface Target {
  /**
   * As in the URL standard, in which every spelling of an IPv4 address has become four decimal
   * numbers; IPv6 without brackets, names without the dot at the end.
   */
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

export function targetOf({ hostname, port, protocol }: URL): Target {
  const isSecure = protocol === 'https:';
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, ''),
    port: Number(port || (isSecure ? 443 : 80)),
    isSecure,
  };
}
