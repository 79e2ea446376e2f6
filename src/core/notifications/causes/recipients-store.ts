import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { hasMuted, IS_MEMBER } from '../../resources/participant.ts';

export interface AbleMember {
  readonly id: string;
  /** Muted members can act, and are not notified. */
  readonly muted: boolean;
}

/**
 * Returns the members of a conversation that may write in it and hold all of these permissions:
 * active users.
 */
export function readAbleMembers(
  db: Db,
  conversationId: string,
  permissions: readonly string[],
): Promise<AbleMember[]> {
  return db.query(READ_ABLE_MEMBERS, conversationId, permissions);
}

/**
 * Returns active users of the account that hold all of these permissions, `limit` at most, in the
 * order of their ids, and `first` before them where it is one of them.
 */
export async function readAbleUsers(
  db: Db,
  accountId: string,
  permissions: readonly string[],
  first: string | null,
  limit: number,
): Promise<string[]> {
  const rows = await db.query(READ_ABLE_USERS, accountId, permissions, first, limit);
  return rows.map(({ id }) => id);
}

/** Returns active users with a role of type `admin`, `limit` at most, or null for all. */
export async function readAdmins(db: Db, accountId: string, limit: number | null): Promise<string[]> {
  const rows = await db.query(READ_ADMINS, accountId, limit);
  return rows.map(({ id }) => id);
}

const ACTIVE_USER = `a.type = 'user' AND NOT a.customer AND a.deactivated_at IS NULL`;

/** SQL: whether the role `r` grants all of the permissions. */
function grants(permissions: string): string {
  return `(r.type = 'admin' OR r.permissions @> ${permissions}::text[])`;
}

const READ_ABLE_MEMBERS = statement<[conversationId: string, permissions: readonly string[]], AbleMember>({
  name: 'read-able-members',
  text: `
    SELECT a.id, ${hasMuted('p')} AS muted
    FROM participants p JOIN actors a ON a.id = p.actor_id JOIN roles r ON r.id = a.role_id
    WHERE p.conversation_id = $1 AND p.${IS_MEMBER} AND p.role <> 'viewer' AND ${ACTIVE_USER} AND ${grants('$2')}
    ORDER BY a.id`,
});

const USERS = `users u JOIN actors a ON a.id = u.id AND ${ACTIVE_USER} JOIN roles r ON r.id = a.role_id
    WHERE u.account_id = $1`;

const READ_ABLE_USERS = statement<
  [accountId: string, permissions: readonly string[], first: string | null, limit: number],
  { id: string }
>({
  name: 'read-able-users',
  text: `
    SELECT u.id FROM ${USERS} AND ${grants('$2')} AND u.id = $3
    UNION ALL
    (SELECT u.id FROM ${USERS} AND ${grants('$2')} AND u.id IS DISTINCT FROM $3 ORDER BY u.id LIMIT $4)
    LIMIT $4`,
});

const READ_ADMINS = statement<[accountId: string, limit: number | null], { id: string }>({
  name: 'read-admins-to-notify',
  text: `SELECT u.id FROM ${USERS} AND r.type = 'admin' ORDER BY u.id LIMIT $2`,
});
