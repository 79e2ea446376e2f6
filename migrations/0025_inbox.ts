import { type Kysely, sql } from 'kysely';

/**
 * What lists in the order of activity are read from (src/inbox/README.md).
 *
 * conversation_activity: one row a conversation, worked out from its messages. inbox_rows: one row a member, worked out
 * from that; `activity_at` is null in conversations with many members, whose readers look at conversation_activity.
 *
 * inbox_due: the conversations whose rows may be out of date. The triggers below write such a mark in the transaction
 * that makes it true: with the removal of a message's outbox row, so that a message is in the outbox, or marked, or in
 * the rows at every moment, whichever node sent it and whether or not that node still lives. A mark with an actor
 * concerns its row alone. Marks have no key but their own, so that no transaction waits for another one's mark.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE conversation_activity (
    conversation_id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL,
    activity_at timestamptz NOT NULL,
    last_sequence bigint NOT NULL,
    last_author_id ${ID},
    other_sequence bigint NOT NULL,
    customer_activity_at timestamptz NOT NULL,
    customer_last_sequence bigint NOT NULL,
    customer_last_author_id ${ID},
    customer_other_sequence bigint NOT NULL,
    scanned_through bigint NOT NULL,
    is_large boolean NOT NULL,
    written_at timestamptz NOT NULL
  )`,
  'CREATE INDEX conversation_activity_order ON conversation_activity (account_id, activity_at, conversation_id)',

  `CREATE TABLE inbox_rows (
    actor_id ${ID} NOT NULL,
    conversation_id ${ID} NOT NULL,
    account_id ${ID} NOT NULL,
    activity_at timestamptz,
    is_unread boolean NOT NULL,
    PRIMARY KEY (actor_id, conversation_id)
  )`,
  'CREATE INDEX inbox_rows_order ON inbox_rows (actor_id, activity_at, conversation_id)',
  'CREATE INDEX inbox_rows_unread ON inbox_rows (actor_id, activity_at, conversation_id) WHERE is_unread',

  // Rows live for a second: they are vacuumed before the table grows.
  `CREATE TABLE inbox_due (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation_id ${ID} NOT NULL,
    actor_id ${ID},
    is_rescan boolean NOT NULL DEFAULT false
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,

  `CREATE FUNCTION mark_sent_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO inbox_due (conversation_id)
        SELECT DISTINCT sent ->> 'conversation_id'
        FROM done, jsonb_array_elements(done.payload -> 'messages') AS sent
        WHERE done.topic = 'messages.sent';
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER outbox_done_in_inbox AFTER DELETE ON outbox REFERENCING OLD TABLE AS done
    FOR EACH STATEMENT EXECUTE FUNCTION mark_sent_in_inbox()`,

  // A deletion takes a message out of what is counted: the numbers of before do not help then.
  `CREATE FUNCTION mark_deleted_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO inbox_due (conversation_id, is_rescan) VALUES (NEW.conversation_id, true);
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER message_deleted_in_inbox AFTER UPDATE OF deleted_at ON messages
    FOR EACH ROW WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at AND NEW.sequence IS NOT NULL)
    EXECUTE FUNCTION mark_deleted_in_inbox()`,

  `CREATE FUNCTION mark_member_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        DELETE FROM inbox_rows WHERE actor_id = OLD.actor_id AND conversation_id = OLD.conversation_id;
        INSERT INTO inbox_due (conversation_id, actor_id) VALUES (OLD.conversation_id, OLD.actor_id);
      ELSIF NEW.actor_id IS NOT NULL THEN
        INSERT INTO inbox_due (conversation_id, actor_id) VALUES (NEW.conversation_id, NEW.actor_id);
      END IF;
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER member_in_inbox AFTER INSERT OR UPDATE OR DELETE ON participants
    FOR EACH ROW EXECUTE FUNCTION mark_member_in_inbox()`,

  `CREATE FUNCTION mark_conversation_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        DELETE FROM conversation_activity WHERE conversation_id = OLD.id;
        INSERT INTO inbox_due (conversation_id) VALUES (OLD.id);
      ELSE
        INSERT INTO inbox_due (conversation_id, is_rescan)
          VALUES (NEW.id, TG_OP = 'UPDATE' AND OLD.purged_through <> NEW.purged_through);
      END IF;
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER conversation_in_inbox AFTER INSERT OR DELETE ON conversations
    FOR EACH ROW EXECUTE FUNCTION mark_conversation_in_inbox()`,
  `CREATE TRIGGER conversation_changed_in_inbox AFTER UPDATE ON conversations
    FOR EACH ROW WHEN ((OLD.purged_through, OLD.status, OLD.workflow_status, OLD.assignee_id, OLD.deleted_at)
      IS DISTINCT FROM (NEW.purged_through, NEW.status, NEW.workflow_status, NEW.assignee_id, NEW.deleted_at))
    EXECUTE FUNCTION mark_conversation_in_inbox()`,

  // The rows of what exists are written by the first node that starts, behind the migration.
  'INSERT INTO inbox_due (conversation_id) SELECT id FROM conversations',
];
