import { sql } from 'kysely';
import { ApiError, alreadyExists } from '../../contract/protocol/errors.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { isUniqueViolation } from '../../platform/db/connection/unavailable.ts';
import { auditAccount } from '../audit/audit.ts';
import type { UserProfile } from '../resources/user.ts';
import { requireGrant } from './grants.ts';
import { enqueueActorChanged } from './rights-changed.ts';
import { findRoleById } from './roles.ts';
import { findUser, isErased, lockUser } from './users.ts';

/** What makes a placeholder the user of a person. */
interface Claim {
  readonly email: string;
  readonly role_id: string;
  readonly name?: string | undefined;
}

/**
 * Claim User (docs/contract.md#placeholders): a placeholder of an import becomes an active user
 * with this address and role. What was imported of the person is then the user's own. Throws
 * ApiError `resource_not_found` (param id or role_id), `insufficient_permissions`,
 * `resource_exists` (param email), or `resource_conflict` for a user that is no placeholder.
 */
export async function claimUser(
  tx: Tx,
  principal: Principal,
  id: string,
  { email: given, role_id, name }: Claim,
): Promise<UserProfile> {
  const { accountId } = principal;
  const email = given.toLowerCase();
  await lockUser(tx, accountId, id);
  const user = await findUser(tx, accountId, id, 'id');
  requireGrant(principal, await findRoleById(tx, accountId, role_id));
  if (!user.placeholder || (await isErased(tx, id))) {
    throw new ApiError('resource_conflict', 'This user is no placeholder of an import.');
  }
  await tx.kysely
    .updateTable('users')
    .set({ email, placeholder: false, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .execute()
    .catch((error: unknown) => {
      throw isUniqueViolation(error, 'users_account_id_email_key')
        ? alreadyExists('user', 'email', 'e-mail address')
        : error;
    });
  await tx.kysely
    .updateTable('actors')
    .set({
      ...{ role_id, handle: email, deactivated_at: null },
      ...(name !== undefined && { name }),
      updated_at: sql<string>`later_than(updated_at)`,
    })
    .where('id', '=', id)
    .execute();
  await enqueueActorChanged(tx, id);
  await auditAccount(tx, principal, 'user.claimed', { user_id: id, role_id });
  return findUser(tx, accountId, id, 'id');
}
