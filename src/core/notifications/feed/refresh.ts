import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { ContentChanged } from '../../messages/outbox-topics.ts';
import { preview } from '../../resources/notification.ts';
import { enqueueUpdated } from './mark.ts';
import type { NotificationKey } from './notify-users.ts';
import { PREVIEW } from './store.ts';
import { withdrawOfMessage } from './withdraw-store.ts';

/**
 * Updates the notifications of a message to its current state: an edit changes their previews, a
 * deletion withdraws them. Handles MESSAGE_EDITED and MESSAGE_DELETED, repeatedly and in any order.
 */
export async function refreshNotifications(
  database: Database,
  { message_id, conversation_id }: ContentChanged,
): Promise<void> {
  await database.transaction(async (tx) => {
    const message = await tx.kysely
      .selectFrom('messages')
      .select(['kind', 'body', 'deleted_at'])
      .where('id', '=', message_id)
      .where('conversation_id', '=', conversation_id)
      // The lock makes the later of two concurrent handlers write the newer text.
      .forShare()
      .executeTakeFirst();
    if (message === undefined) return;
    const changed =
      message.deleted_at === null
        ? await writePreviews(tx, message_id, conversation_id, preview(message))
        : await withdrawOfMessage(tx, message_id, conversation_id);
    await enqueueUpdated(tx, changed);
  });
}

/** Sets the body of a message's notifications. Returns the changed notifications. */
export function writePreviews(
  tx: Tx,
  messageId: string,
  conversationId: string,
  body: string | null,
): Promise<NotificationKey[]> {
  return tx.query(WRITE_PREVIEWS, messageId, conversationId, body);
}

// The ids are derived from the message again. Every recipient is, or was, a participant.
const WRITE_PREVIEWS = statement<
  [messageId: string, conversationId: string, body: string | null],
  NotificationKey
>('write-previews-of-notifications')`
    UPDATE notifications n
    SET body = ${PREVIEW}, ${setTouched('later_than(n.updated_at)')}
    FROM messages m JOIN participants p ON p.conversation_id = m.conversation_id
    WHERE m.id = $1 AND m.conversation_id = $2 AND n.recipient_id = p.actor_id
      AND n.id = notification_id(moment_of(m), m.id, p.actor_id) AND n.body IS DISTINCT FROM ${PREVIEW}
    RETURNING n.id, n.recipient_id`;
