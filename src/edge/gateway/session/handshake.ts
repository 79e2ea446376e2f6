import { ApiError } from '@parley/protocol/errors/errors.ts';
import { SOCKETS_SINCE, type Version } from '@parley/protocol/versions.ts';
import { requireVersion } from '../../../api/pipeline/spoken-version.ts';
import type { AllowedOrigins } from '../../../platform/http/origins.ts';
import type { RequestHead } from '../../../platform/http/request-head.ts';

/** The parts of an upgrade request that are read. */
export type UpgradeRequest = Pick<
  RequestHead,
  'query' | 'host' | 'origin' | 'authorization' | 'version' | 'account'
>;

/** The handshake's data about the caller; an `authenticate` frame may fill undefined fields. */
export interface Handshake {
  readonly version: Version | undefined;
  readonly account: string | undefined;
  readonly authorization: string | undefined;
  readonly ticket: string | undefined;
}

/**
 * Checks everything that needs no lookup (docs/realtime.md#opening). Throws ApiError:
 * `insufficient_permissions` (the origin), `invalid_credentials` (a key or token in the URL),
 * `parameter_unknown`, `parameter_invalid`, `parameters_exclusive`, or what requireVersion throws.
 */
export function readHandshake(request: UpgradeRequest, origins: Pick<AllowedOrigins, 'require'>): Handshake {
  origins.require(request);
  const query = readQuery(request.query);
  const other = (header: string) => `The header ${header} has a different value.`;
  const versionText = agreed(
    'version',
    request.version || undefined,
    query.version,
    other('Service-Version'),
  );
  const account = agreed('account', request.account || undefined, query.account, other('Service-Account'));
  const { authorization } = request;
  if (authorization !== undefined && query.ticket !== undefined) {
    const message = 'Send either the Authorization header or a ticket, not both.';
    throw new ApiError('parameters_exclusive', message, { param: 'ticket' });
  }
  const mayComeLater = authorization === undefined && query.ticket === undefined;
  const version =
    versionText === undefined && mayComeLater ? undefined : requireVersion(versionText, SOCKETS_SINCE);
  return { version, account, authorization, ticket: query.ticket };
}

/** Returns the version that an upgrade request names, even if it may not be opened. */
export function spokenIn({ version, query }: Pick<UpgradeRequest, 'version' | 'query'>): string | undefined {
  return version || (new URLSearchParams(query).get('version') ?? undefined);
}

const PARAMETERS = ['version', 'account', 'ticket'] as const;
type Query = { [name in (typeof PARAMETERS)[number]]?: string };

function readQuery(text: string): Query {
  const query: Query = {};
  for (const [name, value] of new URLSearchParams(text)) {
    // URLs end up in logs and histories, so secrets that outlive a ticket must not be in one.
    if (CREDENTIAL_NAME.test(name) || CREDENTIAL_VALUE.test(value)) {
      throw new ApiError(
        'invalid_credentials',
        'Keys and tokens are not accepted in the URL: use the Authorization header, a ticket or an authenticate frame.',
        { param: name },
      );
    }
    const known = PARAMETERS.find((parameter) => parameter === name);
    if (known === undefined) {
      throw new ApiError('parameter_unknown', 'There is no such parameter here.', { param: name });
    }
    if (value === '' || query[known] !== undefined) {
      throw new ApiError('parameter_invalid', 'This parameter takes one value.', { param: name });
    }
    query[known] = value;
  }
  return query;
}

const CREDENTIAL_NAME =
  /^(authorization|bearer|(access_?|refresh_?|id_?|auth_?)?token|(api_?)?key|jwt|secret)$/i;
/** An API key or a JWT, whatever the parameter is called. */
const CREDENTIAL_VALUE = /^(Bearer\s+)?(parley_|[\w-]+\.[\w-]+\.[\w-]{20,}$)/i;

/** Returns the value that either place gives; throws `parameters_exclusive` if they differ. */
export function agreed(
  param: string,
  one: string | undefined,
  other: string | undefined,
  message: string,
): string | undefined {
  if (one === undefined || other === undefined || one === other) return one ?? other;
  throw new ApiError('parameters_exclusive', message, { param });
}
