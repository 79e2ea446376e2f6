import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/**
 * Finds the group or the inbox that a filter of conversations names. A removed inbox keeps its
 * cases.
 */
export const OWNED = {
  group_id: statement<[accountId: string, id: string]>('find-group-to-filter')`
    SELECT FROM messaging_groups WHERE account_id = $1 AND id = $2`,
  inbox_id: statement<[accountId: string, id: string]>('find-inbox-to-filter')`
    SELECT FROM inboxes WHERE account_id = $1 AND id = $2`,
} as const;

/** Throws ApiError `parameter_invalid` if the account has no such group or inbox. */
export async function readOwned(
  db: Db,
  { accountId }: Principal,
  param: keyof typeof OWNED,
  id: string,
): Promise<string> {
  if ((await db.query(OWNED[param], accountId, id)).length > 0) return id;
  const noun = param === 'group_id' ? 'a group' : 'an inbox';
  throw new ApiError('parameter_invalid', `Must be the id of ${noun} of the account.`, { param });
}
