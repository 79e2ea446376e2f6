import { ApiError } from '../protocol/errors.ts';
import type { Permission } from '../protocol/permissions.ts';
import type { Principal } from './principal.ts';

/**
 * What a known caller may do (specification, Authentication 2–5). In the order of the checks of
 * design.md section 7: account, subscription, permission.
 */

/** `header` is the value of Service-Account. An account that is not the caller's answers like one that does not exist. */
export function requireAccount(principal: Principal, header: string | undefined): void {
  if (header === undefined || header === '') {
    throw new ApiError('parameter_missing', 'The Service-Account header is missing.', {
      param: ACCOUNT_HEADER,
    });
  }
  if (header !== principal.accountId) {
    throw new ApiError(
      'resource_not_found',
      'There is no such account, or this credential cannot access it.',
      {
        param: ACCOUNT_HEADER,
      },
    );
  }
}

export function requireSubscription(principal: Principal): void {
  if (principal.subscribed) return;
  throw new ApiError('payment_required', "The account's subscription is not active.");
}

export function requirePermission(principal: Principal, permission: Permission): void {
  if (hasPermission(principal, permission)) return;
  throw new ApiError(
    'insufficient_permissions',
    `The role behind this credential does not grant ${permission}.`,
  );
}

/** For what no other role can be given: API keys, billing, integrations (specification, Authentication 5). */
export function requireAdmin(principal: Principal): void {
  if (principal.admin) return;
  throw new ApiError('insufficient_permissions', 'Only admin roles may do this.');
}

export function hasPermission(principal: Principal, permission: Permission): boolean {
  return principal.admin || principal.permissions.has(permission);
}

const ACCOUNT_HEADER = 'Service-Account';
