import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import type { RequestHead } from '../../platform/http/request-head.ts';
import type { Endpoint } from './endpoint.ts';
import type { Match } from './router.ts';
import type { Entrance } from './run-host.ts';

/** Paths of operators. For all other callers nothing is there. */

export function isForOperators({ byMethod }: Match<Endpoint>): boolean {
  for (const { route } of byMethod.values()) return route.route.operators === true;
  return false;
}

/**
 * Rejects with the ApiError of an unknown path, whatever is wrong with the caller. Operators learn
 * that they cannot be checked at the moment, as all callers do everywhere: `service_unavailable`.
 */
export async function requireOperator(
  { authenticator }: Pick<Entrance, 'authenticator'>,
  { authorization, account }: Pick<RequestHead, 'authorization' | 'account'>,
): Promise<void> {
  try {
    const { operator } = await authenticator.authenticate(authorization, account);
    if (operator) return;
  } catch (error) {
    if (!(error instanceof ApiError) || error.condition === 'service_unavailable') throw error;
  }
  throw notFound('endpoint');
}
