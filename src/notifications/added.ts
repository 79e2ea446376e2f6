import type { ParticipantAdded } from '../conversations/outbox-topics.ts';
import type { Db } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import type { Engine } from '../engine/engine.ts';
import { publish } from '../engine/publish.ts';
import type { Actor } from '../protocol/resources/actor.ts';
import { notificationEvent } from '../resources/notification.ts';
import { type NewNotification, senderType } from './notify.ts';
import { insertNotifications } from './store.ts';

/**
 * Notifies a user of being added to a conversation (`chat.added`). Handles PARTICIPANT_ADDED and may be called again
 * for the same row. Only users are notified, if they are still participants, have not muted the conversation and did
 * not add themselves (docs/contract.md#notifications). Rejects if publishing failed on some node.
 */
export async function notifyAdded(db: Db, engine: Engine, added: ParticipantAdded): Promise<void> {
  const [joining] = await db.query(READ_JOINING, added.participant_id, added.by);
  if (joining === undefined) return;
  const rows = await insertNotifications(db, [addedNotification(added.notification_id, joining)]);
  await Promise.all(rows.map((row) => publish(engine, notificationEvent('notification.created', row))));
}

interface Joining {
  readonly account_id: string;
  readonly recipient_id: string;
  readonly conversation_id: string;
  readonly title: string | null;
  /** The actor that added the recipient; null if there is none. */
  readonly by_id: string | null;
  readonly by_type: Actor['type'] | null;
  readonly by_name: string | null;
}

function addedNotification(id: string, joining: Joining): NewNotification {
  const { by_id, by_type, by_name, title } = joining;
  const where = title ?? 'a conversation';
  return {
    id,
    account_id: joining.account_id,
    recipient_id: joining.recipient_id,
    category: 'chat.added',
    title: by_id === null ? `You were added to ${where}` : `${by_name ?? 'Someone'} added you to ${where}`,
    body: null,
    sender_id: by_id,
    sender_type: senderType(by_type && { type: by_type }),
    resource_id: joining.conversation_id,
    message_id: null,
  };
}

const READ_JOINING = statement<[participantId: string, by: string | null], Joining>({
  name: 'read-joining',
  text: `
    SELECT p.account_id, p.actor_id AS recipient_id, c.id AS conversation_id, c.title,
      a.id AS by_id, a.type AS by_type, a.name AS by_name
    FROM participants p JOIN conversations c ON c.id = p.conversation_id LEFT JOIN actors a ON a.id = $2
    WHERE p.id = $1 AND p.type = 'user' AND p.membership IN ('active', 'hidden')
      AND p.notifications <> 'muted' AND p.actor_id IS DISTINCT FROM $2`,
});
