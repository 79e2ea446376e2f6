import { tellChanged } from '../conversations/changed.ts';
import type { Database } from '../db/database.ts';
import { within } from '../db/statement.ts';
import type { Deleted } from '../messages/edits.ts';
import { forgetBodies } from './store.ts';

/**
 * What a deleted message said, its notifications say no more. The handler of messages/edits.ts, which may be called
 * again for the same row.
 */
export async function forgetDeleted(
  database: Database,
  { message_id, conversation_id }: Deleted,
): Promise<void> {
  await database.transaction(async (tx) => {
    const forgotten = await forgetBodies(within(tx), message_id, conversation_id);
    const event = 'notification.updated';
    await tellChanged(
      tx,
      forgotten.map(({ id, recipient_id: stream }) => ({ event, id, stream })),
    );
  });
}
