import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { RoleRow } from '../../resources/role.ts';

/**
 * Requires that the caller grants no more than it holds (docs/contract.md#limits-of-agents), when a
 * role is created, or assigned to a user, a key or an agent. Throws `insufficient_permissions`.
 */
export function requireGrant(
  principal: Principal,
  { type, permissions }: Pick<RoleRow, 'type' | 'permissions'>,
): void {
  if (principal.admin) return;
  if (type === 'admin') {
    throw new ApiError(
      'insufficient_permissions',
      'Only callers with an admin role can assign an admin role, or change those that have it.',
    );
  }
  const beyond = permissions.find((permission) => !principal.permissions.has(permission));
  if (beyond === undefined) return;
  throw new ApiError(
    'insufficient_permissions',
    `The role behind this credential does not grant ${beyond}, so it can neither assign it nor change those that have it.`,
  );
}
