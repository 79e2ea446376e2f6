import type { ConversationAudience } from '../../../contract/protocol/resources/conversation.ts';
import type { MessageReacted } from '../../../contract/protocol/socket/event-data.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { partOf } from '../../../platform/engine/frame.ts';
import type { DomainEvent } from '../../../platform/engine/publish.ts';
import { type EventReads, eventSource } from '../../events/event-source.ts';
import { type MessageRow, visibleToCustomers } from '../../resources/message.ts';
import { countReactions, presentCounts } from '../../resources/reaction.ts';

/** `message.reacted`: all reactions of a message, for customers only if they see the message. */
export const reactionEvents = eventSource({
  events: ['message.reacted'],
  async read(from, changes) {
    const ids = [...new Set(changes.map(({ id }) => id))];
    return reactedMessages(from, await from.database.query(READ_REACTED, ids));
  },
  changed: {
    conversation: {
      arm: {
        part: 'reactions',
        rows: 'reacted_messages r WHERE r.conversation_id = s.id AND r.changed_in >= $3::xid8',
      },
      async since(from, conversationIds, since) {
        return reactedMessages(from, await from.database.query(READ_CHANGED, conversationIds, since.xid));
      },
    },
  },
});

interface ReactedRow extends Pick<MessageRow, 'id' | 'conversation_id' | 'status' | 'visibility'> {
  readonly sequence: number;
  readonly audience: ConversationAudience;
  readonly at: string;
}

/** The rows are read before the reactions, so that no event is older than its time. */
async function reactedMessages(
  { database }: EventReads,
  rows: readonly ReactedRow[],
): Promise<DomainEvent[]> {
  const ids = rows.map(({ id }) => id);
  const counted = await countReactions(database, ids, '');
  return rows.map((row) => {
    const data = (forCustomer: boolean): MessageReacted => ({
      message_id: row.id,
      reactions: presentCounts(counted.get(row.id) ?? [], forCustomer),
    });
    return {
      event: 'message.reacted',
      stream: row.conversation_id,
      conversationId: row.conversation_id,
      sequence: row.sequence,
      resource: partOf(row.id, 'reactions'),
      at: row.at,
      team: data(false),
      customer: visibleToCustomers(row, row.audience) ? data(true) : undefined,
    };
  });
}

const COLUMNS = `
    SELECT m.id, m.conversation_id, m.status, m.visibility, m.sequence, c.audience, r.updated_at AS at
    FROM reacted_messages r
    JOIN messages m ON m.id = r.message_id AND m.conversation_id = r.conversation_id AND m.status = 'sent'
    JOIN conversations c ON c.id = r.conversation_id`;

const READ_REACTED = statement<[messageIds: readonly string[]], ReactedRow>('read-reacted-messages')`
    ${COLUMNS} WHERE r.message_id = ANY($1) ORDER BY r.updated_at`;

const READ_CHANGED = statement<[conversationIds: readonly string[], sinceXid: string], ReactedRow>(
  'read-changed-reactions',
)`
    ${COLUMNS} WHERE r.conversation_id = ANY($1) AND r.changed_in >= $2::xid8 ORDER BY r.updated_at`;
