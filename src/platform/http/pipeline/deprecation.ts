import { FORMER_NAMES } from '../../../contract/protocol/versions.ts';

/**
 * Returns the headers of every answer to a request that speaks a version by a former name (RFC
 * 9745, docs/contract.md#versions); none for any other.
 */
export function deprecationHeaders(version: string | undefined): readonly [name: string, value: string][] {
  const former = version === undefined ? undefined : FORMER_NAMES.get(version);
  return former === undefined ? NONE : [['Deprecation', `@${former.deprecatedAtS}`], LINK];
}

const NONE: readonly [string, string][] = [];
const LINK: [string, string] = ['Link', '</docs/access#former-names>; rel="deprecation"; type="text/html"'];
