import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { audit } from '../../audit/audit.ts';
import type { UserProfile } from '../../resources/user.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';

/**
 * Operators: users that see the installation as a whole (docs/contract.md#the-installation). Only
 * the operator's commands name them: no role of an account grants it.
 */

export interface OperatorRow {
  readonly user_id: string;
  readonly account_id: string;
  readonly name: string | null;
  readonly email: string;
  readonly created_at: string;
}

/**
 * Makes a user an operator; no-op for an operator. The caller has locked the user. Throws ApiError
 * `resource_conflict` for a user that cannot sign in.
 */
export async function addOperator(tx: Tx, user: UserProfile): Promise<OperatorRow> {
  if (user.deactivated || user.placeholder) {
    throw new ApiError('resource_conflict', `The user ${user.id} cannot sign in, so cannot be an operator.`);
  }
  const [added] = await tx.query(ADD, user.id);
  if (added !== undefined) await changed(tx, user, 'operator.added');
  return (await readOperator(tx, user.id))!;
}

/**
 * Ends the rights of an operator, on every node within a second. Returns whether the user was one.
 */
export async function removeOperator(tx: Tx, user: Pick<UserProfile, 'id' | 'account_id'>): Promise<boolean> {
  const { numDeletedRows: removed } = await tx.kysely
    .deleteFrom('operators')
    .where('user_id', '=', user.id)
    .executeTakeFirst();
  if (removed > 0) await changed(tx, user, 'operator.removed');
  return removed > 0;
}

/** Returns the operators, newest first. */
export function listOperators(db: Db, limit: number): Promise<OperatorRow[]> {
  return db.query(READ, null, limit);
}

/** Returns undefined if the user is no operator. */
export async function readOperator(db: Db, userId: string): Promise<OperatorRow | undefined> {
  const [row] = await db.query(READ, userId, 1);
  return row;
}

/** Audits it in the user's account, whose admins may know. */
async function changed(
  tx: Tx,
  { id, account_id: accountId }: Pick<UserProfile, 'id' | 'account_id'>,
  action: 'operator.added' | 'operator.removed',
): Promise<void> {
  await enqueueRightsChanged(tx, [id]);
  await audit(tx, { accountId, action, details: { user_id: id } });
}

const ADD = statement<[userId: string], object>('add-operator')`
    INSERT INTO operators (user_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING user_id`;

const READ = statement<[userId: string | null, limit: number], OperatorRow>('read-operators')`
    SELECT o.user_id, a.account_id, a.name, u.email, o.created_at
    FROM operators o JOIN users u ON u.id = o.user_id JOIN actors a ON a.id = o.user_id
    WHERE $1::text IS NULL OR o.user_id = $1
    ORDER BY o.created_at DESC, o.user_id LIMIT $2`;
