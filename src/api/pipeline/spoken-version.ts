import { ApiError } from '@parley/protocol/errors/errors.ts';
import { covers, DEPRECATIONS, VERSIONS, type Version, versionNamed } from '@parley/protocol/versions.ts';

/**
 * Returns the version that a caller names, for an endpoint that exists since `since`. Throws
 * ApiError `api_version_required`, `api_version_invalid` or `api_version_too_old`
 * (docs/contract.md#versions).
 */
export function requireVersion(
  text: string | undefined,
  since: Version,
  missing = 'The Service-Version header is missing.',
  param = 'Service-Version',
): Version {
  if (text === undefined || text === '') throw new ApiError('api_version_required', missing, { param });
  const version = versionNamed(text);
  if (version === undefined) {
    throw new ApiError('api_version_invalid', `Supported versions are ${VERSIONS.join(', ')}.`, { param });
  }
  if (!covers(version, since)) {
    throw new ApiError('api_version_too_old', `This endpoint exists since ${since}.`, { param });
  }
  return version;
}

/**
 * Returns headers for a version's former name (RFC 9745 and 8594, docs/contract.md#versions), else
 * none.
 */
export function deprecationHeaders(version: string | undefined): readonly [name: string, value: string][] {
  return HEADERS.get(version ?? '') ?? NONE;
}

const NONE: readonly [string, string][] = [];
const LINK: [string, string] = ['Link', '</docs/access#former-names>; rel="deprecation"; type="text/html"'];
const HEADERS = new Map<string, [string, string][]>(
  Object.entries(DEPRECATIONS).map(([name, { since, sunset }]) => [
    name,
    [['Deprecation', `@${Date.parse(since) / 1_000}`], ['Sunset', new Date(sunset).toUTCString()], LINK],
  ]),
);
