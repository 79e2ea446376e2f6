import type { ParticipantAdded } from '../conversations/outbox-topics.ts';
import type { Db } from '../db/handle.ts';
import type { Engine } from '../engine/engine.ts';
import { publish } from '../engine/publish.ts';
import { notificationEvent } from '../resources/notification.ts';
import { type NewNotification, senderType } from './notify.ts';
import { insertNotifications, type JoiningRow, readJoining } from './store.ts';

/**
 * Notifies a user of being added to a conversation (`chat.added`). Handles PARTICIPANT_ADDED and may be called again
 * for the same row. Only users are notified, if they are still participants, have not muted the conversation and did
 * not add themselves (docs/contract.md#notifications). Rejects if publishing failed on some node.
 */
export async function notifyAdded(db: Db, engine: Engine, added: ParticipantAdded): Promise<void> {
  const joining = await readJoining(db, added.participant_id, added.by);
  if (joining === undefined) return;
  const rows = await insertNotifications(db, [addedNotification(added, joining)]);
  await Promise.all(rows.map((row) => publish(engine, notificationEvent('notification.created', row))));
}

function addedNotification({ participant_id, at }: ParticipantAdded, joining: JoiningRow): NewNotification {
  const { by_id, by_type, by_name, title } = joining;
  const where = title ?? 'a conversation';
  return {
    account_id: joining.account_id,
    recipient_id: joining.recipient_id,
    category: 'chat.added',
    title: by_id === null ? `You were added to ${where}` : `${by_name ?? 'Someone'} added you to ${where}`,
    body: null,
    sender_id: by_id,
    sender_type: senderType(by_type && { type: by_type }),
    resource_id: joining.conversation_id,
    message_id: null,
    cause: { key: `added ${participant_id}`, at },
  };
}
