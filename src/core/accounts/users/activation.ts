import { ApiError } from '@parley/protocol/errors/errors.ts';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { UserProfile } from '../../resources/user.ts';
import { findAnyUser, isErased } from '../actors/users.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';
import { endEveryToken } from '../sessions/sessions.ts';
import { removeOperator } from './operators.ts';

/**
 * Deactivates or activates a user of any account. With its commit, a deactivation ends sessions,
 * tokens, sockets and the rights of an operator for good. The user's content, role and memberships
 * stay, in case of a later activation. Throws `resource_not_found` (param id), or
 * `resource_conflict` for the activation of an erased user or a placeholder.
 */
export async function setActive(tx: Tx, id: string, isActive: boolean): Promise<UserProfile> {
  if (isActive && (await isErased(tx, id))) {
    throw new ApiError('resource_conflict', 'This user was erased for good. Create a new one instead.');
  }
  if (isActive && (await findAnyUser(tx, id)).placeholder) {
    throw new ApiError('resource_conflict', 'This user is a placeholder of an import. Claim it instead.');
  }
  await tx.kysely
    .updateTable('actors')
    .set({
      deactivated_at: isActive ? null : sql<string>`clock_timestamp()`,
      ...(!isActive && { tokens_ended_at: sql<string>`clock_timestamp()` }),
      updated_at: sql<string>`later_than(updated_at)`,
    })
    .where('id', '=', id)
    .where('deactivated_at', isActive ? 'is not' : 'is', null)
    .execute();
  const row = await findAnyUser(tx, id);
  if (!isActive) {
    await endEveryToken(tx, id);
    await removeOperator(tx, row);
  }
  await enqueueRightsChanged(tx, [id]);
  return row;
}
