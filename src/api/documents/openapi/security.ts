import { FORMER_NAMES, type Version } from '@parley/protocol/versions.ts';
import type { Route } from '../../pipeline/route.ts';

/**
 * The headers by which a caller says who it is, in which version, and for which account. As
 * security schemes, generated clients are given them once; as parameters, at each call
 * (DECISIONS.md#headers-of-callers-are-security-schemes).
 */

/** The name of a scheme, with the scopes that it needs: none. */
type Requirement = Readonly<Record<string, readonly string[]>>;

/** What operations need that say nothing else. */
export const OF_ACCOUNT: Requirement = { bearer: [], ServiceVersion: [], ServiceAccount: [] };
const OF_OPERATOR: Requirement = { operatorKey: [], ServiceVersion: [] };
const WITHOUT_CREDENTIAL: Requirement = { ServiceVersion: [] };

/** Returns the `security` of an operation, of which one requirement suffices, if not OF_ACCOUNT. */
export function securityOf({ open, mayBeOpen, operators }: Route): readonly Requirement[] | undefined {
  if (open === true) return [WITHOUT_CREDENTIAL];
  if (mayBeOpen !== undefined) return [OF_ACCOUNT, WITHOUT_CREDENTIAL];
  if (operators === 'keys') return [OF_OPERATOR];
  return operators === 'all' ? [OF_ACCOUNT, OF_OPERATOR] : undefined;
}

/** Returns the schemes of a document of these versions and routes. */
export function securitySchemes(versions: readonly Version[], routes: readonly Route[]) {
  const formerNames = [...FORMER_NAMES].map(([name, version]) => `\`${name}\` for \`${version}\``);
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'An API key (`parley_…`) or an access token.',
    },
    ...(routes.some(({ operators }) => operators !== undefined) && { operatorKey: OPERATOR_KEY }),
    ServiceVersion: {
      type: 'apiKey',
      in: 'header',
      name: 'Service-Version',
      description:
        `The version of the API that the caller speaks: ${versions.map((version) => `\`${version}\``).join(', ')}. ` +
        `Former names are accepted, with the headers \`Deprecation\` and \`Sunset\` on the answer: ${formerNames.join(', ')}.`,
      'x-values': versions,
    },
    ServiceAccount: {
      type: 'apiKey',
      in: 'header',
      name: 'Service-Account',
      description: 'The id of the account that the request is for, such as `acc_…`.',
    },
  };
}

const OPERATOR_KEY = {
  type: 'http',
  scheme: 'bearer',
  description: 'The key of an operator (`parleyop_…`), which belongs to no account.',
};
