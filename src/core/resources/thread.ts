import type { Thread } from '@parley/protocol/resources/thread.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { IS_MEMBER } from './membership.ts';
import type { MessageKey, Viewer } from './message.ts';

interface ThreadRow {
  readonly message_id: string;
  readonly replies: number;
  readonly unread: number;
  readonly last_id: string | null;
  readonly last_sequence: number | null;
  readonly last_sender_id: string | null;
  readonly last_author_id: string | null;
  readonly last_at: string | null;
}

/** Returns the thread of each message as this viewer sees it, counted exactly each time. */
export async function readThreads(
  db: Db,
  viewer: Viewer,
  roots: readonly MessageKey[],
): Promise<ReadonlyMap<string, Thread>> {
  if (roots.length === 0) return new Map();
  const rows = await db.query(
    READ_THREADS,
    roots.map(({ id }) => id),
    roots.map(({ conversation_id }) => conversation_id),
    viewer.actor.id,
    viewer.customer,
  );
  return new Map(rows.map((row) => [row.message_id, presentThread(row, viewer)]));
}

function presentThread(row: ThreadRow, { customer }: Viewer): Thread {
  const { last_id: id, last_sequence: sequence, last_at: at } = row;
  const hasReply = id !== null && sequence !== null && at !== null;
  return {
    object: 'thread',
    message_id: row.message_id,
    reply_count: row.replies,
    last_reply: hasReply
      ? {
          id,
          sequence,
          sender_id: row.last_sender_id,
          author_id: customer ? null : row.last_author_id,
          at,
        }
      : null,
    unread: row.unread,
  };
}

/**
 * SQL: the condition of a reply `r` to the message `root`, as in the index messages_replies;
 * `forCustomer` is a parameter.
 */
export function isReplyTo(root: string, forCustomer: `$${number}`): string {
  return `r.reply_to_id = ${root} AND r.reply_to_id IS NOT NULL AND r.status = 'sent' AND r.deleted_at IS NULL
        AND (NOT ${forCustomer}::boolean OR r.visibility <> 'internal')`;
}

// OFFSET 0 prevents a lookup of the position for each reply.
const READ_THREADS = statement<
  [messageIds: readonly string[], conversationIds: readonly string[], viewerId: string, forCustomer: boolean],
  ThreadRow
>('read-threads')`
    SELECT root.id AS message_id, counted.replies, counted.unread, last.id AS last_id, last.sequence AS last_sequence,
      last.sender_id AS last_sender_id, last.author_id AS last_author_id, last.at AS last_at
    FROM unnest($1::text[], $2::text[]) AS root(id, conversation_id)
    LEFT JOIN LATERAL (
      SELECT greatest(p.read_sequence, t.read_sequence) AS sequence FROM participants p
      LEFT JOIN thread_reads t ON t.message_id = root.id AND t.actor_id = $3
      WHERE p.conversation_id = root.conversation_id AND p.actor_id = $3 AND p.${IS_MEMBER} OFFSET 0
    ) read ON true
    CROSS JOIN LATERAL (
      SELECT count(*) AS replies, count(*) FILTER (
        WHERE r.sequence > read.sequence AND r.imported IS NULL AND r.author_id IS DISTINCT FROM $3
      ) AS unread
      FROM messages r WHERE ${isReplyTo('root.id', '$4')}
    ) counted
    LEFT JOIN LATERAL (
      SELECT r.id, r.sequence, r.sender_id, r.author_id,
        coalesce((r.outcome ->> 'at')::timestamptz, r.created_at) AS at
      FROM messages r WHERE ${isReplyTo('root.id', '$4')} ORDER BY r.sequence DESC LIMIT 1
    ) last ON true`;
