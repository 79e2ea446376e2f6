import { ApiError } from '@parley/protocol/errors/errors.ts';
import { ADMIN_PERMISSIONS, type AdminPermission, type Permission } from '@parley/protocol/permissions.ts';
import type { Principal } from './principal.ts';

/**
 * The rights of a known caller, checked in the order of docs/contract.md#order-of-checks: account,
 * subscription, permission.
 */

/**
 * Throws unless the caller may use the account. `header` is the value of Service-Account, or of a
 * field in a frame, which `missing` describes. Another's account is answered like an absent one.
 */
export function requireAccount(
  principal: Principal,
  header: string | undefined,
  ...missing: AccountPlace
): void {
  if (header === undefined || header === '') throw accountMissing(...missing);
  if (header !== principal.accountId) {
    throw new ApiError(
      'resource_not_found',
      'There is no such account, or this credential cannot access it.',
      { param: missing[1] ?? 'Service-Account' },
    );
  }
}

/** The name of the missing account in a refusal, if not the header's. */
export type AccountPlace = [missing?: string, param?: string];

/** Returns the refusal of a request that does not name its account. */
export function accountMissing(
  ...[missing = 'The Service-Account header is missing.', param = 'Service-Account']: AccountPlace
): ApiError {
  return new ApiError('parameter_missing', missing, { param });
}

export function requireSubscription(principal: Principal): void {
  if (principal.subscribed) return;
  throw new ApiError('payment_required', "The account's subscription is not active. Renew it to continue.");
}

/** Throws unless the caller has the permission, or `or`, which also suffices. */
export function requirePermission(
  principal: Principal,
  permission: Permission | AdminPermission,
  or?: Permission,
): void {
  if (hasPermission(principal, permission)) return;
  if (or !== undefined && hasPermission(principal, or)) return;
  const wanted = or === undefined ? permission : `${or} or ${permission}`;
  throw new ApiError(
    'insufficient_permissions',
    `The role behind this credential does not grant ${wanted}. An admin can change the role.`,
  );
}

/** Permissions of admins count in admin roles only (docs/contract.md#permissions). */
export function hasPermission(
  { admin, permissions }: Principal,
  permission: Permission | AdminPermission,
): boolean {
  return admin || (permissions.has(permission) && !ADMIN_ONLY.has(permission));
}

const ADMIN_ONLY: ReadonlySet<string> = new Set(ADMIN_PERMISSIONS);
