import type { EditMessageBody } from '../../../contract/protocol/resources/chat-message.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isComing } from '../../../platform/db/migration/coming.ts';
import { notComing } from '../../conversations/own-state.ts';
import { readEditedInputs } from './edited-attachments.ts';

/**
 * Checks what an edit demands of its body whatever the message
 * (docs/contract.md#editing-and-deleting). A time that has passed is refused unless the message has
 * it already, which is no change. Throws ApiError.
 */
export function checkEditBody(
  db: Db,
  messageId: string,
  { attachments, scheduled_at }: EditMessageBody,
): Promise<void> | void {
  if (attachments !== undefined) readEditedInputs(attachments);
  if (scheduled_at !== undefined) return checkTime(db, messageId, scheduled_at);
}

async function checkTime(db: Db, messageId: string, scheduledAt: string): Promise<void> {
  if (await isComing(db, scheduledAt)) return;
  const [same] = await db.query(HAS_TIME, messageId, scheduledAt);
  if (same === undefined) throw notComing('scheduled_at');
}

const HAS_TIME = statement<[messageId: string, scheduledAt: string]>({
  name: 'message-has-time',
  text: `SELECT FROM messages WHERE id = $1 AND status = 'scheduled' AND scheduled_at = $2::timestamptz`,
});
