import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { auditAccount } from '../../audit/audit.ts';
import type { UserProfile } from '../../resources/user.ts';
import { findUser, giveAddress, isErased, lockUser } from '../actors/users.ts';
import { requireGrant } from '../rights/grants.ts';
import { findRoleById } from '../rights/roles.ts';

/** The data that makes a placeholder a person's user. */
interface Claim {
  readonly email: string;
  readonly role_id: string;
  readonly name?: string | undefined;
}

/**
 * Claim User (docs/contract.md#placeholders): a placeholder of an import becomes an active user
 * with this address and role. The person's imported content then belongs to the user. Throws
 * ApiError `resource_not_found` (param id or role_id), `insufficient_permissions`,
 * `resource_exists` (param email), or `resource_conflict` for a user that is no placeholder.
 */
export async function claimUser(
  tx: Tx,
  principal: Principal,
  id: string,
  { email, role_id, name }: Claim,
): Promise<UserProfile> {
  const { accountId } = principal;
  await lockUser(tx, accountId, id);
  const user = await findUser(tx, accountId, id, 'id');
  requireGrant(principal, await findRoleById(tx, accountId, role_id));
  if (!user.placeholder || (await isErased(tx, id))) {
    throw new ApiError('resource_conflict', 'This user is no placeholder of an import.');
  }
  await giveAddress(tx, id, email);
  await tx.kysely.updateTable('users').set({ placeholder: false }).where('id', '=', id).execute();
  await tx.kysely
    .updateTable('actors')
    .set({ role_id, deactivated_at: null, ...(name !== undefined && { name }) })
    .where('id', '=', id)
    .execute();
  await auditAccount(tx, principal, 'user.claimed', { user_id: id, role_id });
  return findUser(tx, accountId, id, 'id');
}
