import { type Selectable, sql } from 'kysely';
import { IS_MEMBER } from '../../../core/resources/membership.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

/** The start of the next mail of a bridged case. */
export type MailThreadRow = Selectable<Schema['mail_threads']>;

/** Locks the thread until the transaction ends. Undefined: the conversation was never bridged. */
export function lockThread(tx: Tx, conversationId: string): Promise<MailThreadRow | undefined> {
  return tx.kysely
    .selectFrom('mail_threads')
    .selectAll()
    .where('conversation_id', '=', conversationId)
    .forUpdate()
    .executeTakeFirst();
}

export async function updateThread(
  tx: Tx,
  conversationId: string,
  change: Partial<Pick<MailThreadRow, 'subject' | 'cc' | 'last_in_id' | 'last_out_id'>>,
): Promise<void> {
  await tx.kysely
    .updateTable('mail_threads')
    .set({ ...change, updated_at: sql<string>`later_than(updated_at)` })
    .where('conversation_id', '=', conversationId)
    .execute();
}

/** The next mail of a conversation, unless its message states otherwise. */
export interface NextMailRow extends Pick<MailThreadRow, 'cc' | 'last_in_id' | 'last_out_id'> {
  /** Null if the inbox was removed or never existed. */
  readonly inbox_id: string | null;
  readonly title: string | null;
  readonly account_name: string;
  readonly thread_subject: string | null;
  readonly to: readonly string[];
  /** The addresses of the customers of the case. */
  readonly customers: readonly string[];
}

/** Returns undefined if there is no such conversation. */
export async function readNextMail(db: Db, conversationId: string): Promise<NextMailRow | undefined> {
  const [row] = await db.query(READ_NEXT_MAIL, conversationId);
  return row;
}

/** Returns SQL: an array of the addresses of customers that are members of a conversation. */
export function customerAddresses(conversationId: string): string {
  return `ARRAY(
        SELECT p.handle FROM participants r JOIN actors p ON p.id = r.actor_id
        WHERE r.conversation_id = ${conversationId} AND r.${IS_MEMBER} AND p.customer AND p.handle IS NOT NULL
          AND p.deactivated_at IS NULL
        ORDER BY r.created_at, r.id)`;
}

/**
 * Returns SQL: an array of the addresses in copy of the last mail of a thread `t`, without the
 * inboxes of its account, each of which has a case of its own of a mail that went to both.
 */
export function threadCopies(accountId: string): string {
  return `ARRAY(
        SELECT copy.address FROM unnest(t.cc) WITH ORDINALITY AS copy(address, place)
        WHERE NOT EXISTS (
          SELECT FROM inboxes o WHERE o.account_id = ${accountId} AND o.deleted_at IS NULL
            AND lower(o.address) = regexp_replace(lower(copy.address), '\\+[^@]*@', '@'))
        ORDER BY copy.place)`;
}

/** SQL: whether a text can be a Message-ID of a header. */
export const IS_ID = `~ '^[!-;=?-~]{1,250}$'`;

/** Maximum Message-IDs of a References header: some servers refuse long headers. */
const MAX_REFERENCES = 20;

/**
 * Returns SQL: an array of the Message-IDs of a case, oldest first: the first and the last ones.
 */
export function threadIds(conversationId: string): string {
  return `ARRAY(
        SELECT l.rfc_id FROM (
          SELECT o.rfc_id, o.created_at, o.id, row_number() OVER (ORDER BY o.created_at, o.id) AS first,
            row_number() OVER (ORDER BY o.created_at DESC, o.id DESC) AS last
          FROM mails o
          WHERE o.conversation_id = ${conversationId} AND o.purpose IN ('reply', 'message') AND o.rfc_id ${IS_ID}
            AND o.status NOT IN ('canceled', 'ignored')
        ) l
        WHERE l.first = 1 OR l.last < ${MAX_REFERENCES} ORDER BY l.created_at, l.id)`;
}

const READ_NEXT_MAIL = statement<[conversationId: string], NextMailRow>('read-next-mail-of-conversation')`
    SELECT i.id AS inbox_id, c.title, a.name AS account_name, t.subject AS thread_subject,
      ${threadCopies('c.account_id')} AS cc, t.last_in_id, t.last_out_id,
      CASE WHEN i.id IS NULL THEN '{}'
        WHEN coalesce(l.reply_to, l.from_address) IS NOT NULL THEN ARRAY[coalesce(l.reply_to, l.from_address)]
        ELSE ${customerAddresses('c.id')} END AS to,
      ${customerAddresses('c.id')} AS customers
    FROM conversations c
      JOIN accounts a ON a.id = c.account_id
      LEFT JOIN inboxes i ON i.id = c.inbox_id AND i.deleted_at IS NULL
      LEFT JOIN mail_threads t ON t.conversation_id = c.id
      LEFT JOIN mails l ON l.id = t.last_in_id
    WHERE c.id = $1`;
