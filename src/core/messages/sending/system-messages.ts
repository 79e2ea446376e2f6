import type { SystemEvent } from '../../conversations/outbox-topics.ts';
import { TEXT_ALONE } from '../rows/new-message.ts';
import type { WritePath } from '../timeline/write-path.ts';

/** Writes the message of an outbox row (SYSTEM_EVENT) once, however often it is called. */
export async function appendSystemEvent(
  writePath: Pick<WritePath, 'append'>,
  event: SystemEvent,
): Promise<void> {
  await writePath.append({
    message: {
      ...TEXT_ALONE,
      ...event,
      kind: 'system_event',
      sender_id: null,
      author_id: null,
    },
    sender: null,
    audience: event.visibility === 'system' ? 'customer' : 'internal',
  });
}
