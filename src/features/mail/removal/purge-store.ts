import { countOf, type RemovedRows } from '../../../core/resources/holdings.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { MailRow } from '../mails/mail-store.ts';

/** Deletes all mails of a conversation that is purged as a whole, even mails without a message. */
export async function deleteMailsOfConversation(
  tx: Tx,
  conversationId: string,
  limit: number,
): Promise<RemovedSources> {
  return removed(await tx.query(DELETE_OF_CONVERSATION, conversationId, limit));
}

/**
 * Deletes mails without a message that are no longer tried and are older than this: digests,
 * bounces and ignored mail. Mails of conversations under legal hold stay.
 */
export async function deleteMailsWithoutMessage(
  tx: Tx,
  days: number,
  limit: number,
): Promise<RemovedSources> {
  return removed(await tx.query(DELETE_WITHOUT_MESSAGE, days, limit));
}

/** Removes the references to older sources of an account, except in held conversations. */
export async function removeOldSources(
  tx: Tx,
  accountId: string,
  days: number,
  limit: number,
): Promise<RemovedSources> {
  return removed(await tx.query(REMOVE_OLD_SOURCES, accountId, days, limit));
}

/** Returns the age in seconds of an account's oldest source without a hold, or null if none. */
export async function readSourceAge(db: Db, accountId: string): Promise<number | null> {
  const [row] = await db.query(READ_SOURCE_AGE, accountId);
  return row?.age ?? null;
}

type SourceRow = Pick<MailRow, 'source_key'>;

type RemovedSources = Required<Pick<RemovedRows, 'rows' | 'keys'>>;

function removed(rows: readonly SourceRow[]): RemovedSources {
  return { rows: rows.length, keys: rows.flatMap(({ source_key }) => source_key ?? []) };
}

const DELETE_OF_CONVERSATION = statement<[conversationId: string, limit: number], SourceRow>(
  'delete-mails-of-conversation',
)`
    DELETE FROM mails WHERE id = ANY(ARRAY(SELECT id FROM mails WHERE conversation_id = $1 LIMIT $2))
    RETURNING source_key`;

/** Whether the conversation of the mail `m`, locked, has no hold; true without a conversation. */
const IS_FREE = `(m.conversation_id IS NULL OR NOT EXISTS (
        SELECT FROM conversations c WHERE c.id = m.conversation_id AND c.legal_hold = 'held'))`;

/** Locks the conversations of the rows `old`, so that no hold is set until the transaction ends. */
const LOCKED = `locked AS (
      SELECT c.id, c.legal_hold FROM conversations c
      WHERE c.id IN (SELECT conversation_id FROM old) ORDER BY c.id FOR SHARE
    ), free AS (
      SELECT old.id FROM old LEFT JOIN locked l ON l.id = old.conversation_id
      WHERE l.legal_hold IS DISTINCT FROM 'held'
    )`;

const DELETE_WITHOUT_MESSAGE = statement<[days: number, limit: number], SourceRow>(
  'delete-mails-without-message',
)`
    WITH old AS MATERIALIZED (
      SELECT m.id, m.conversation_id FROM mails m
      WHERE m.message_id IS NULL AND m.created_at < clock_timestamp() - make_interval(days => $1)
        AND m.status NOT IN ('queued', 'deferred') AND ${IS_FREE}
      ORDER BY m.created_at LIMIT $2
    ), ${LOCKED}
    DELETE FROM mails m USING free f WHERE m.id = f.id AND m.message_id IS NULL RETURNING m.source_key`;

/** Up to $3 mails of the account whose sources are older than $2 days. */
const OLD_SOURCES = `SELECT m.id, m.conversation_id, m.source_key FROM mails m
      WHERE m.account_id = $1 AND m.source_key IS NOT NULL
        AND m.created_at < clock_timestamp() - make_interval(days => $2) AND ${IS_FREE}
      ORDER BY m.created_at LIMIT $3`;

/** Counts up to `limit` sources that `removeOldSources` would remove. */
export const countOldSources = countOf('count-old-sources-of-mails', OLD_SOURCES);

const REMOVE_OLD_SOURCES = statement<[accountId: string, days: number, limit: number], SourceRow>(
  'remove-old-sources-of-mails',
)`
    WITH old AS MATERIALIZED (
      ${OLD_SOURCES}
    ), ${LOCKED}
    UPDATE mails m SET source_key = NULL, updated_at = later_than(m.updated_at)
    FROM free f JOIN old o USING (id) WHERE m.id = f.id RETURNING o.source_key`;

const READ_SOURCE_AGE = statement<[accountId: string], { age: number | null }>(
  'read-age-of-sources-of-mails',
)`
    SELECT extract(epoch FROM clock_timestamp() - min(m.created_at))::float8 AS age FROM mails m
    WHERE m.account_id = $1 AND m.source_key IS NOT NULL AND ${IS_FREE}`;
