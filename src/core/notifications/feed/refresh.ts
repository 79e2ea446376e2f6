import type { Database } from '../../../platform/db/connection/database.ts';
import type { ContentChanged } from '../../messages/outbox-topics.ts';
import { preview } from '../../resources/notification.ts';
import { enqueueUpdated } from './mark.ts';
import { lockContent, writePreviews } from './store.ts';
import { withdrawOfMessage } from './withdraw-store.ts';

/**
 * Updates the notifications of a message to its current state: an edit changes their previews, a
 * deletion withdraws them. Handles MESSAGE_EDITED and MESSAGE_DELETED; may be called again, and in
 * any order.
 */
export async function refreshNotifications(
  database: Database,
  { message_id, conversation_id }: ContentChanged,
): Promise<void> {
  await database.transaction(async (tx) => {
    const place = { messageId: message_id, conversationId: conversation_id };
    // Locked, so that the later of two concurrent handlers writes the newer text.
    const message = await lockContent(tx, place);
    if (message === undefined) return;
    const changed =
      message.deleted_at === null
        ? await writePreviews(tx, place, message.body && preview(message.body))
        : await withdrawOfMessage(tx, message_id, conversation_id);
    await enqueueUpdated(tx, changed);
  });
}
