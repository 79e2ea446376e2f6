import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * Marks of the inbox (migrations/0025_inbox.ts) for everything that a list of conversations shows,
 * since the event `inbox.changed` names what was marked: any published change of a conversation,
 * its members with their names and roles, and a message, which may be the last one.
 * They change no row of the inbox, so that a mark costs one look at the rows.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  'DROP TRIGGER conversation_changed_in_inbox ON conversations',
  `CREATE TRIGGER conversation_changed_in_inbox AFTER UPDATE ON conversations
    FOR EACH ROW WHEN (OLD.purged_through <> NEW.purged_through OR OLD.changed_in IS DISTINCT FROM NEW.changed_in
      OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at)
    EXECUTE FUNCTION mark_conversation_in_inbox()`,

  // The mark of the member itself is written by `member_in_inbox`.
  `CREATE FUNCTION mark_all_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO inbox_due (conversation_id) VALUES (coalesce(NEW.conversation_id, OLD.conversation_id));
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER members_in_inbox AFTER INSERT OR DELETE ON participants
    FOR EACH ROW EXECUTE FUNCTION mark_all_in_inbox()`,
  `CREATE TRIGGER members_changed_in_inbox AFTER UPDATE ON participants
    FOR EACH ROW WHEN (OLD.changed_in IS DISTINCT FROM NEW.changed_in) EXECUTE FUNCTION mark_all_in_inbox()`,

  // Messages that enter the timeline are marked by the outbox, deleted ones by `message_deleted_in_inbox`.
  `CREATE TRIGGER message_changed_in_inbox AFTER UPDATE ON messages
    FOR EACH ROW WHEN (OLD.sequence IS NOT NULL AND OLD.changed_in IS DISTINCT FROM NEW.changed_in
      AND NEW.deleted_at IS NULL)
    EXECUTE FUNCTION mark_all_in_inbox()`,
];
