import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * messages.imported: the import that wrote the message, when, and by which actor; null for what was
 * sent here. Imported messages count neither as unread nor as activity, so that the deletion of one
 * leaves a mark of the inbox (migrations/0025_inbox.ts) that has no history read again.
 *
 * note_imported leaves for the inbox and for search what the removal of an outbox row leaves for
 * messages that were sent (migrations/0030_lighter_notes.ts).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  'ALTER TABLE messages ADD COLUMN imported jsonb',

  'DROP TRIGGER message_deleted_in_inbox ON messages',
  `CREATE TRIGGER message_deleted_in_inbox AFTER UPDATE OF deleted_at ON messages
    FOR EACH ROW WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at AND NEW.sequence IS NOT NULL
      AND NEW.imported IS NULL)
    EXECUTE FUNCTION mark_deleted_in_inbox()`,
  `CREATE TRIGGER imported_deleted_in_inbox AFTER UPDATE OF deleted_at ON messages
    FOR EACH ROW WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at AND NEW.imported IS NOT NULL)
    EXECUTE FUNCTION mark_all_in_inbox()`,

  `CREATE FUNCTION note_imported(conversation text, ids text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO inbox_due (conversation_id) VALUES (conversation);
      INSERT INTO search_changes (sent_ids, sent_of)
        VALUES (ids, array_fill(conversation, ARRAY[cardinality(ids)]));
    END
  $$`,
];
