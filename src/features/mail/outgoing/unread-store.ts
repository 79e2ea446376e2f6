import { presenceOf } from '../../../core/accounts/people/people.ts';
import { isUnreadAnswer } from '../../../core/messages/reading/unread-answers.ts';
import { isBlockedByTeam } from '../../../core/resources/actor.ts';
import { IS_MEMBER } from '../../../core/resources/membership.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { IS_ID, threadIds } from '../mails/thread-store.ts';

/** A customer of a case that has answers which it has not read. */
export interface UnreadCustomer {
  /** Its proven address. */
  readonly address: string;
  /** The newest of the answers. */
  readonly message_id: string;
  /** Whether a socket of it is open, on any node. */
  readonly is_present: boolean;
  /** Whether a mail since it read last has such answers. */
  readonly is_mailed: boolean;
}

/**
 * Returns the customers of a case to whom unread answers may be mailed: the case came by a widget
 * with an inbox, their addresses are proven, no mail came back from there, and the team has not
 * blocked them.
 */
export function readUnreadCustomers(tx: Tx, conversationId: string): Promise<UnreadCustomer[]> {
  return tx.query(READ_CUSTOMERS, conversationId);
}

/** The facts of which a mail of unread answers is made, besides its text. */
export interface UnreadFacts {
  readonly account_id: string;
  readonly account_name: string;
  readonly inbox_id: string;
  readonly inbox_name: string;
  readonly address: string;
  /** The name of the group that the answer is sent under, if any. */
  readonly persona: string | null;
  /** The subject of the last mail of the case, if any. */
  readonly thread_subject: string | null;
  /** The Message-ID that the mail answers, or null if it begins the thread. */
  readonly answers: string | null;
  readonly thread_ids: readonly string[];
}

export async function readUnreadFacts(tx: Tx, messageId: string): Promise<UnreadFacts> {
  const [facts] = await tx.query(READ_FACTS, messageId);
  return facts!;
}

/** Returns the answers that the recipients of a mail have not read by now, oldest first. */
export async function readUnreadAnswers(
  db: Db,
  mailId: string,
): Promise<Pick<MessageRow, 'id' | 'body' | 'has_attachments'>[]> {
  return (await db.query(READ_ANSWERS, mailId, MOST_ANSWERS)).reverse();
}

/** The answers of one mail: the newest ones. */
const MOST_ANSWERS = 20;

/** SQL: the customers `p`, with the actors `a`, of the case `c`, and the number `seen` by each. */
const CUSTOMERS = `JOIN participants p ON p.conversation_id = c.id AND p.${IS_MEMBER} AND p.type = 'customer'
      JOIN actors a ON a.id = p.actor_id AND a.proven_address IS NOT NULL AND a.deactivated_at IS NULL
        AND NOT ${isBlockedByTeam('a.id')}
      CROSS JOIN LATERAL (
        -- Who writes has read what was there.
        SELECT greatest(p.read_sequence, (
          SELECT m.sequence FROM messages m
          WHERE m.conversation_id = c.id AND m.sequence IS NOT NULL AND m.author_id = p.actor_id
          ORDER BY m.sequence DESC LIMIT 1)) AS sequence
      ) seen`;

const UNREAD = `m.conversation_id = c.id AND ${isUnreadAnswer('m', 'p.actor_id', 'seen.sequence')}`;

/**
 * SQL: whether the last that is known of the address of the customer `a` is a mail that came back,
 * and not a mail from it.
 */
const IS_RETURNED = `coalesce((
        SELECT l.direction = 'out' FROM participants q JOIN mails l ON l.conversation_id = q.conversation_id
        WHERE q.actor_id = a.id AND CASE l.direction
          WHEN 'out' THEN l.recipients @> jsonb_build_array(
            jsonb_build_object('address', a.proven_address, 'status', 'bounced'))
          ELSE l.purpose = 'message' AND lower(l.from_address) = a.proven_address END
        ORDER BY l.updated_at DESC LIMIT 1), false)`;

const READ_CUSTOMERS = statement<[conversationId: string], UnreadCustomer>('read-customers-with-unread')`
    SELECT a.proven_address AS address, newest.id AS message_id, ${presenceOf('a.id')} <> 'offline' AS is_present,
      EXISTS (
        SELECT FROM mails l JOIN messages o ON o.id = l.message_id
        WHERE l.conversation_id = c.id AND l.direction = 'out' AND l.status <> 'canceled'
          AND o.sequence > seen.sequence) AS is_mailed
    FROM conversations c
      JOIN widgets w ON w.id = c.widget_id
      JOIN inboxes i ON i.id = w.inbox_id AND i.deleted_at IS NULL
      ${CUSTOMERS}
      CROSS JOIN LATERAL (SELECT m.id FROM messages m WHERE ${UNREAD} ORDER BY m.sequence DESC LIMIT 1) newest
    WHERE c.id = $1 AND c.inbox_id IS NULL AND c.deleted_at IS NULL AND NOT ${IS_RETURNED}
    ORDER BY p.created_at, p.id`;

const READ_FACTS = statement<[messageId: string], UnreadFacts>('read-facts-of-unread-mail')`
    SELECT m.account_id, o.name AS account_name, i.id AS inbox_id, i.name AS inbox_name, i.address,
      CASE WHEN s.type = 'group' THEN s.name END AS persona, last.subject AS thread_subject, last.rfc_id AS answers,
      ${threadIds('c.id')} AS thread_ids
    FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN accounts o ON o.id = m.account_id
      JOIN widgets w ON w.id = c.widget_id JOIN inboxes i ON i.id = w.inbox_id
      LEFT JOIN actors s ON s.id = m.sender_id
      LEFT JOIN LATERAL (
        SELECT l.subject, l.rfc_id FROM mails l
        WHERE l.conversation_id = c.id AND l.purpose IN ('reply', 'message') AND l.rfc_id ${IS_ID}
          AND l.status NOT IN ('canceled', 'ignored')
        ORDER BY l.created_at DESC, l.id DESC LIMIT 1
      ) last ON true
    WHERE m.id = $1`;

const READ_ANSWERS = statement<
  [mailId: string, limit: number],
  Pick<MessageRow, 'id' | 'body' | 'has_attachments'>
>('read-unread-answers-to-mail')`
    SELECT DISTINCT m.id, m.body, m.has_attachments, m.sequence
    FROM mails l JOIN conversations c ON c.id = l.conversation_id
      ${CUSTOMERS}
      JOIN messages m ON ${UNREAD}
    WHERE l.id = $1 AND l.recipients @> jsonb_build_array(jsonb_build_object('address', a.proven_address))
    ORDER BY m.sequence DESC LIMIT $2`;
