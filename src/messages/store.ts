import type { Db, Querier, Tx } from '../db/handle.ts';
import { type Statement, statement } from '../db/statement.ts';
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

/** A page of messages outside the timeline. */
export interface OutsidePage {
  readonly conversationId: string;
  readonly status: MessageStatus;
  /** Null: all authors. */
  readonly authorId: string | null;
  readonly order: 'newest_first' | 'oldest_first';
  /** `created_at` and id of the row before the page; null for the first page in this direction. */
  readonly after: readonly [string, string] | null;
  readonly limit: number;
}

/** Returns messages that are not sent, by their `created_at`. */
export function readOutside(
  db: Db,
  { conversationId, status, authorId, order, after, limit }: OutsidePage,
): Promise<MessageRow[]> {
  const [at, id] = after ?? FARTHEST[order];
  return db.query(READ_OUTSIDE[order], conversationId, status, at, id, limit, authorId);
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

const FARTHEST = { newest_first: ['infinity', ''], oldest_first: ['-infinity', ''] } as const;

type Params = [
  conversationId: string,
  status: string,
  at: string,
  id: string,
  limit: number,
  authorId: string | null,
];

const READ_OUTSIDE = {
  newest_first: outsideStatement('newest', '<', 'DESC'),
  oldest_first: outsideStatement('oldest', '>', 'ASC'),
} as const;

function outsideStatement(
  end: string,
  beyond: '<' | '>',
  order: 'ASC' | 'DESC',
): Statement<Params, MessageRow> {
  return {
    name: `list-messages-outside-${end}`,
    text: `
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.sequence IS NULL AND m.conversation_id = $1 AND m.status = $2
      AND (m.created_at, m.id) ${beyond} ($3::timestamptz, $4) AND ($6::text IS NULL OR m.author_id = $6)
    ORDER BY m.created_at ${order}, m.id ${order} LIMIT $5`,
  };
}
