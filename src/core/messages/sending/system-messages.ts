import type { SystemEvent } from '../../conversations/outbox-topics.ts';
import type { WritePath } from '../timeline/write-path.ts';

/** Writes the message of an outbox row (SYSTEM_EVENT), once however often it is called. */
export async function appendSystemEvent(writePath: WritePath, event: SystemEvent): Promise<void> {
  await writePath.append({
    message: {
      ...event,
      kind: 'system_event',
      channel: 'message',
      subject: null,
      cc: null,
      mentions: null,
      sender_id: null,
      author_id: null,
      reply_to_id: null,
      resource_type: null,
      resource_id: null,
      agent_run_id: null,
      streaming_state: null,
      client_message_id: null,
      attachments: [],
    },
    sender: null,
    audience: event.visibility === 'system' ? 'customer' : 'internal',
  });
}
