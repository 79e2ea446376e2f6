import type { Db, Querier, Tx } from '../db/handle.ts';
import { type KeysetPage, keysetList } from '../db/keyset.ts';
import { statement } from '../db/statement.ts';
import type { MessageStatus } from '../protocol/resources/chat-message.ts';
import { MESSAGE_COLUMNS, type MessageRow, messageColumns } from '../resources/message.ts';

/** The name that a client has given to a message, unique for its author and conversation. */
export type ClientKey = Pick<MessageRow, 'conversation_id' | 'author_id' | 'client_message_id'>;

/** Messages by what their clients call them, in no order; keys without a message are left out. */
export function readMessagesByClientId(db: Querier, keys: readonly ClientKey[]): Promise<MessageRow[]> {
  return db.query(READ_BY_CLIENT_ID, JSON.stringify(keys, CLIENT_KEY_FIELDS));
}

/** Returns the highest number of each conversation, 0 if it has no message. */
export async function readHeads(
  db: Querier,
  conversationIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query(READ_HEADS, conversationIds);
  return new Map(rows.map((row) => [row.conversation_id, row.head]));
}

/** Returns the message's current row, locked until the transaction ends. */
export function lockMessage(
  tx: Tx,
  { id, conversation_id }: Pick<MessageRow, 'id' | 'conversation_id'>,
): Promise<MessageRow> {
  return tx.kysely
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

/** Which messages outside the timeline. */
export interface OutsideFilters {
  readonly conversationId: string;
  readonly status: MessageStatus;
  /** Null: of any author. */
  readonly authorId: string | null;
}

/** Returns messages that are not sent, the newest first. */
export function readOutside(
  db: Db,
  { conversationId, status, authorId }: OutsideFilters,
  page: KeysetPage,
): Promise<MessageRow[]> {
  return OUTSIDE.readPage(db, [conversationId, status, authorId], page);
}

const CLIENT_KEY_FIELDS = ['conversation_id', 'author_id', 'client_message_id'];

const READ_BY_CLIENT_ID = statement<[keys: string], MessageRow>({
  name: 'read-messages-by-client-id',
  text: `
    SELECT ${messageColumns('m')}
    FROM json_to_recordset($1::json) AS k(conversation_id text, author_id text, client_message_id text)
    JOIN messages m USING (conversation_id, author_id, client_message_id)`,
});

const READ_HEADS = statement<[conversationIds: readonly string[]], { conversation_id: string; head: number }>(
  {
    name: 'read-heads',
    text: `
    SELECT c.id AS conversation_id,
      coalesce((SELECT max(m.sequence) FROM messages m WHERE m.conversation_id = c.id), 0) AS head
    FROM unnest($1::text[]) AS c(id)`,
  },
);

const OUTSIDE = keysetList<[conversationId: string, status: string, authorId: string | null], MessageRow>({
  name: 'list-messages-outside',
  columns: messageColumns('m'),
  from: 'messages m',
  where: `m.sequence IS NULL AND m.conversation_id = $1 AND m.status = $2
      AND ($3::text IS NULL OR m.author_id = $3)`,
  key: [
    ['m.created_at', 'timestamptz'],
    ['m.id', 'text'],
  ],
});
