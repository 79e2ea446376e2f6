import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { loadFacts } from '../../conversations/directory/directory.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import { hasMuted } from '../../resources/participant.ts';
import { enqueueUpdated } from '../feed/mark.ts';
import { type NewNotification, notifyUsers } from '../feed/notify-users.ts';
import { withdrawOfSubject } from '../feed/withdraw-store.ts';

/** Work that waits for a person (docs/contract.md#work-that-waits). */
export interface WaitingWork {
  readonly notification: NewNotification;
  /** The title for admins outside the conversation: it reveals nothing of its content. */
  readonly titleOutside: string;
  /** The conversation in which a person has to act, or null if there is none. */
  readonly conversationId: string | null;
  /** The permissions required to act. */
  readonly permissions: readonly string[];
  /** The actor that caused it and is not notified, or null. */
  readonly by: string | null;
  /** The actor for which it was begun, first where recipients are limited, or null. */
  readonly beganFor: string | null;
}

/**
 * Notifies the users that can act: the members of the conversation that may write in it and hold
 * the permissions. Members that have muted it, or leave it to the assignee, get a notification that
 * is read already: they find the work among all that waits for them, and nothing announces it. If
 * no member can act, admins of the account are notified, since otherwise the work would wait
 * unseen. Without a conversation, all users with the permissions are notified. MAX_RECIPIENTS
 * bounds the last two. May be called again.
 */
export async function notifyAble(tx: Tx, work: WaitingWork): Promise<void> {
  const { notification, titleOutside, conversationId, permissions, by, beganFor } = work;
  const { account_id } = notification;
  const othersOf = (users: readonly { readonly id: string }[]) =>
    users.flatMap(({ id }) => (id === by ? [] : id));
  if (conversationId === null) {
    const users = await tx.query(READ_ABLE_USERS, account_id, permissions, beganFor, MAX_RECIPIENTS);
    await notifyUsers(tx, othersOf(users), notification);
    return;
  }
  const able = await tx.query(READ_ABLE_MEMBERS, conversationId, permissions);
  if (able.some(({ id }) => id !== by)) {
    const [facts] = await loadFacts(tx, [conversationId]);
    const isNotified = ({ id }: { readonly id: string }) => facts?.members.get(id)?.isNotified === true;
    // Where the assignee cannot act, the others are announced to.
    const isLeft = able.some((one) => isNotified(one) && one.id !== by);
    const quiet = able.filter((one) => one.muted || (isLeft && !isNotified(one)));
    const others = able.filter((one) => !quiet.includes(one));
    await notifyUsers(tx, othersOf(others), notification);
    await notifyUsers(tx, othersOf(quiet), { ...notification, status: 'read' });
    return;
  }
  const admins = await tx.query(READ_ADMINS, account_id, MAX_RECIPIENTS);
  await notifyUsers(tx, othersOf(admins), { ...notification, title: titleOutside, body: null });
}

/** Withdraws the notifications of work that no longer waits. `subject` is its message or run. */
export async function withdrawWork(tx: Tx, subject: string, category: string): Promise<void> {
  await enqueueUpdated(tx, await withdrawOfSubject(tx, subject, category));
}

const MAX_RECIPIENTS = 100;

/** Returns active users with a role of type `admin`: up to `limit`, or all if it is null. */
export async function readAdmins(db: Db, accountId: string, limit: number | null): Promise<string[]> {
  const rows = await db.query(READ_ADMINS, accountId, limit);
  return rows.map(({ id }) => id);
}

const ACTIVE_USER = `a.type = 'user' AND NOT a.customer AND a.deactivated_at IS NULL`;

/** SQL: whether the role `r` grants all of the permissions. */
function grants(permissions: string): string {
  return `(r.type = 'admin' OR r.permissions @> ${permissions}::text[])`;
}

const READ_ABLE_MEMBERS = statement<
  [conversationId: string, permissions: readonly string[]],
  { id: string; muted: boolean }
>('read-able-members')`
    SELECT a.id, ${hasMuted('p')} AS muted
    FROM participants p JOIN actors a ON a.id = p.actor_id JOIN roles r ON r.id = a.role_id
    WHERE p.conversation_id = $1 AND p.${IS_MEMBER} AND p.role <> 'viewer' AND ${ACTIVE_USER} AND ${grants('$2')}
    ORDER BY a.id`;

const USERS = `users u JOIN actors a ON a.id = u.id AND ${ACTIVE_USER} JOIN roles r ON r.id = a.role_id
    WHERE u.account_id = $1`;

/** `$3` comes first if it is among the users. */
const READ_ABLE_USERS = statement<
  [accountId: string, permissions: readonly string[], first: string | null, limit: number],
  { id: string }
>('read-able-users')`
    SELECT u.id FROM ${USERS} AND ${grants('$2')} AND u.id = $3
    UNION ALL
    (SELECT u.id FROM ${USERS} AND ${grants('$2')} AND u.id IS DISTINCT FROM $3 ORDER BY u.id LIMIT $4)
    LIMIT $4`;

const READ_ADMINS = statement<[accountId: string, limit: number | null], { id: string }>(
  'read-admins-to-notify',
)`
    SELECT u.id FROM ${USERS} AND r.type = 'admin' ORDER BY u.id LIMIT $2`;
