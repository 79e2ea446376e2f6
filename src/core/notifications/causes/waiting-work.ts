import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { NewNotification } from '../feed/insert-store.ts';
import { enqueueUpdated } from '../feed/mark.ts';
import { withdrawOfSubject } from '../feed/withdraw-store.ts';
import { notifyUsers } from './notify-users.ts';
import { readAbleMembers, readAbleUsers, readAdmins } from './recipients-store.ts';

/** Work that waits for a person (docs/contract.md#work-that-waits). */
export interface WaitingWork {
  readonly notification: NewNotification;
  /** The title for admins that are not in the conversation: it says nothing of what is in there. */
  readonly titleOutside: string;
  /** The conversation in which a person has to act, or null. */
  readonly conversationId: string | null;
  /** The permissions that acting takes. */
  readonly permissions: readonly string[];
  /** The actor that caused it, which is not notified, or null. */
  readonly by: string | null;
  /**
   * The actor for which it was begun, which comes before others where recipients are limited; null:
   * none.
   */
  readonly beganFor: string | null;
}

/**
 * Notifies the users that can act: the members of the conversation that may write in it and hold
 * the permissions, but for those that have muted it. Where no member can act, admins of the account
 * are notified, since otherwise the work would wait unseen. Without a conversation all users with
 * the permissions are. MAX_RECIPIENTS bounds the last two. May be called again.
 */
export async function notifyAble(tx: Tx, work: WaitingWork): Promise<void> {
  const { notification, titleOutside, conversationId, permissions, by, beganFor } = work;
  const { account_id } = notification;
  const notify = (ids: readonly string[], shown: NewNotification) =>
    notifyUsers(
      tx,
      ids.filter((id) => id !== by),
      shown,
    );
  if (conversationId === null) {
    await notify(await readAbleUsers(tx, account_id, permissions, beganFor, MAX_RECIPIENTS), notification);
    return;
  }
  const members = (await readAbleMembers(tx, conversationId, permissions)).filter(({ id }) => id !== by);
  if (members.length > 0) {
    await notify(
      members.flatMap(({ id, muted }) => (muted ? [] : id)),
      notification,
    );
    return;
  }
  const admins = await readAdmins(tx, account_id, MAX_RECIPIENTS);
  await notify(admins, { ...notification, title: titleOutside, body: null });
}

/**
 * Withdraws the notifications of work that does not wait any more. `subject`: the message or run
 * that it was about.
 */
export async function withdrawWork(tx: Tx, subject: string, category: string): Promise<void> {
  await enqueueUpdated(tx, await withdrawOfSubject(tx, subject, category));
}

const MAX_RECIPIENTS = 100;
