import type { MessagePinned } from '../../../contract/protocol/socket/event-data.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { partOf } from '../../../platform/engine/frame.ts';
import type { DomainEvent } from '../../../platform/engine/publish.ts';
import { eventSource } from '../../events/event-source.ts';

/** `message.pinned`, for the team: whether a message is pinned. */
export const pinEvents = eventSource({
  events: ['message.pinned'],
  async read({ database }, changes) {
    const ids = [...new Set(changes.map(({ id }) => id))];
    return (await database.query(READ_PINS, ids)).map(pinEvent);
  },
  changed: {
    conversation: {
      arm: { part: 'pins', rows: 'pins p WHERE p.conversation_id = s.id AND p.changed_in >= $3::xid8' },
      async since({ database }, conversationIds, since) {
        return (await database.query(READ_CHANGED, conversationIds, since.xid)).map(pinEvent);
      },
    },
  },
});

interface ChangedPin extends MessagePinned {
  readonly conversation_id: string;
  readonly sequence: number;
  readonly at: string;
}

function pinEvent({ conversation_id, sequence, at, ...data }: ChangedPin): DomainEvent {
  return {
    event: 'message.pinned',
    stream: conversation_id,
    conversationId: conversation_id,
    sequence,
    resource: partOf(data.message_id, 'pin'),
    at,
    team: data,
    customer: undefined,
  };
}

const COLUMNS = `
    SELECT p.message_id, p.pinned_by, p.pinned_at, p.conversation_id, m.sequence, p.updated_at AS at
    FROM pins p JOIN messages m ON m.id = p.message_id AND m.conversation_id = p.conversation_id AND m.status = 'sent'`;

const READ_PINS = statement<[messageIds: readonly string[]], ChangedPin>('read-changed-pins-by-message')`
    ${COLUMNS} WHERE p.message_id = ANY($1) ORDER BY p.updated_at`;

const READ_CHANGED = statement<[conversationIds: readonly string[], sinceXid: string], ChangedPin>(
  'read-changed-pins',
)`
    ${COLUMNS} WHERE p.conversation_id = ANY($1) AND p.changed_in >= $2::xid8 ORDER BY p.updated_at`;
