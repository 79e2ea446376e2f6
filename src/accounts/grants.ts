import type { Principal } from '../access/principal.ts';
import { ApiError } from '../protocol/errors.ts';
import type { RoleType } from '../protocol/resources/role.ts';

/** What a role gives to whoever has it: of an `admin` one everything, whatever it lists. */
export interface Grant {
  readonly type: RoleType;
  readonly permissions: readonly string[];
}

/**
 * Nobody hands out more than they hold (docs/contract.md#limits-of-agents): asked where a role is made, and where
 * one is given to a user, a key or an agent. Throws ApiError `insufficient_permissions`.
 */
export function requireGrant(principal: Principal, { type, permissions }: Grant): void {
  if (principal.admin) return;
  if (type === 'admin') {
    throw new ApiError('insufficient_permissions', 'Only admin roles may hand out an admin role.');
  }
  const beyond = permissions.find((permission) => !principal.permissions.has(permission));
  if (beyond === undefined) return;
  throw new ApiError(
    'insufficient_permissions',
    `The role behind this credential does not grant ${beyond}, so it cannot hand it out.`,
  );
}
