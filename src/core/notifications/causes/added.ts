import type { Database } from '../../../platform/db/connection/database.ts';
import type { ParticipantAdded } from '../../conversations/outbox-topics.ts';
import { type NewNotification, notifyUsers } from '../feed/notify-users.ts';
import { type JoiningRow, readJoining } from '../feed/store.ts';
import { senderType } from './notify.ts';

/**
 * Notifies a user of being added to a conversation (`chat.added`). Handles PARTICIPANT_ADDED and
 * may be called again for the same row. Only users are notified, if they are still participants,
 * have not muted the conversation and did not add themselves (docs/contract.md#notifications).
 */
export async function notifyAdded(database: Database, added: ParticipantAdded): Promise<void> {
  const joining = await readJoining(database, added.participant_id, added.by);
  if (joining === undefined) return;
  const notification = addedNotification(added, joining);
  await database.transaction((tx) => notifyUsers(tx, [joining.recipient_id], notification));
}

function addedNotification({ participant_id, at }: ParticipantAdded, joining: JoiningRow): NewNotification {
  const { by_id, by_type, by_name, title } = joining;
  const where = title ?? 'a conversation';
  return {
    account_id: joining.account_id,
    category: 'chat.added',
    title: by_id === null ? `You were added to ${where}` : `${by_name ?? 'Someone'} added you to ${where}`,
    body: null,
    sender_id: by_id,
    sender_type: senderType(by_type && { type: by_type }),
    resource: { type: 'entity', id: joining.conversation_id },
    message_id: null,
    agent_run_id: null,
    cause: { key: `added ${participant_id}`, at },
  };
}
