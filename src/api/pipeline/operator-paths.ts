import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import type { RequestHead } from '../../platform/http/request-head.ts';
import type { OperatorKeys } from '../access/operator-keys.ts';
import type { Principal } from '../access/principal.ts';
import type { Endpoint } from './endpoint.ts';
import type { Route } from './route.ts';
import type { Match } from './router.ts';
import type { Entrance } from './run-host.ts';

/** Paths of operators. For all other callers nothing is there. */

/** Returns the operators that a path is for, or undefined for the path of other callers. */
export function operatorsOf({ byMethod }: Match<Endpoint>): Route['operators'] {
  for (const { route } of byMethod.values()) return route.route.operators;
  return undefined;
}

export interface OperatorEntrance extends Pick<Entrance, 'authenticator'> {
  /** Absent where no operator has a key. */
  readonly operatorKeys: Pick<OperatorKeys, 'authenticate'> | undefined;
}

/**
 * Returns the operator. Rejects with the ApiError of an unknown path, whatever is wrong with
 * another caller, except that a key of an operator is refused as any key is, and that all learn if
 * they cannot be checked at the moment: `service_unavailable`.
 */
export async function requireOperator(
  operators: Route['operators'],
  { authenticator, operatorKeys }: OperatorEntrance,
  { authorization, account }: Pick<RequestHead, 'authorization' | 'account'>,
): Promise<Principal> {
  const byKey = await operatorKeys?.authenticate(authorization);
  if (byKey !== undefined) return byKey;
  try {
    const principal = await authenticator.authenticate(authorization, account);
    if (principal.operator && operators === 'all') return principal;
  } catch (error) {
    if (!(error instanceof ApiError) || error.condition === 'service_unavailable') throw error;
  }
  throw notFound('endpoint');
}
