import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * conversations.waiting_since: since when the customer of a case waits for an answer, which is the
 * moment of the first message of the customer behind the last reply. Deleted and imported messages
 * and automatic mail do not count. Triggers write it, so that it is right for messages of a node of
 * the version before too. Cases that are there get it from a job, in parts.
 *
 * conversation_views: the lists of conversations that a person has saved.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  'ALTER TABLE conversations ADD COLUMN waiting_since timestamptz',

  // The customer waits for what stands in the timeline: a reply that was deleted is none.
  `CREATE FUNCTION waiting_of(conversation text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT moment_of(m) FROM messages m JOIN actors a ON a.id = m.author_id AND a.customer
    WHERE m.conversation_id = conversation AND m.visibility = 'external' AND m.status = 'sent'
      AND m.deleted_at IS NULL AND m.imported IS NULL
      AND m.sequence > coalesce((
        SELECT r.sequence FROM messages r JOIN actors o ON o.id = r.author_id AND NOT o.customer
        WHERE r.conversation_id = conversation AND r.sequence IS NOT NULL AND r.visibility = 'external'
          AND r.status = 'sent' AND r.deleted_at IS NULL AND r.imported IS NULL
        ORDER BY r.sequence DESC LIMIT 1), 0)
      AND NOT EXISTS (SELECT FROM mails WHERE message_id = m.id AND automatic)
    ORDER BY m.sequence LIMIT 1 $$`,

  `CREATE FUNCTION follow_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      is_of_customer boolean;
    BEGIN
      SELECT customer INTO is_of_customer FROM actors WHERE id = NEW.author_id;
      IF is_of_customer THEN
        UPDATE conversations SET waiting_since = moment_of(NEW)
          WHERE id = NEW.conversation_id AND audience = 'customer' AND waiting_since IS NULL;
      ELSIF NOT is_of_customer THEN
        UPDATE conversations SET waiting_since = NULL
          WHERE id = NEW.conversation_id AND waiting_since IS NOT NULL;
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER message_sent_in_case AFTER INSERT ON messages
    FOR EACH ROW WHEN (NEW.visibility = 'external' AND NEW.status = 'sent' AND NEW.imported IS NULL)
    EXECUTE FUNCTION follow_waiting()`,
  `CREATE TRIGGER message_entered_case AFTER UPDATE OF status ON messages
    FOR EACH ROW WHEN (NEW.visibility = 'external' AND NEW.status = 'sent' AND OLD.status <> 'sent')
    EXECUTE FUNCTION follow_waiting()`,

  // A mail gets its message in the transaction that writes the message.
  `CREATE FUNCTION end_automatic_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE conversations c SET waiting_since = NULL FROM messages m
        WHERE m.id = NEW.message_id AND m.conversation_id = NEW.conversation_id
          AND c.id = m.conversation_id AND c.waiting_since = moment_of(m);
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER mail_in_case AFTER UPDATE OF message_id ON mails
    FOR EACH ROW WHEN (NEW.automatic AND NEW.direction = 'in' AND OLD.message_id IS NULL AND NEW.message_id IS NOT NULL)
    EXECUTE FUNCTION end_automatic_waiting()`,

  // A resolved case waits for no answer. Opened again by hand it is as before; a message of the
  // customer that opens it has begun a new wait, and an automatic mail (lane 'new') begins none.
  `CREATE FUNCTION resolve_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF coalesce(NEW.lane_behind, NEW.workflow_status) = 'resolved' THEN
        NEW.waiting_since := NULL;
      ELSIF coalesce(OLD.lane_behind, OLD.workflow_status) = 'resolved'
        AND coalesce(NEW.lane_behind, NEW.workflow_status) <> 'new' AND NEW.waiting_since IS NULL THEN
        NEW.waiting_since := waiting_of(NEW.id);
      END IF;
      RETURN NEW;
    END $$`,
  `CREATE TRIGGER case_resolved BEFORE UPDATE OF workflow_status, lane_behind ON conversations
    FOR EACH ROW WHEN (coalesce(OLD.lane_behind, OLD.workflow_status)
      IS DISTINCT FROM coalesce(NEW.lane_behind, NEW.workflow_status))
    EXECUTE FUNCTION resolve_waiting()`,

  `INSERT INTO jobs (topic, payload, due_at)
    SELECT 'waiting.derive', '{"after":""}', clock_timestamp()
    WHERE EXISTS (SELECT FROM conversations WHERE audience = 'customer')`,

  `CREATE TABLE conversation_views (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    name text NOT NULL,
    filters jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT statement_timestamp()
  )`,
  'CREATE INDEX conversation_views_of_actor ON conversation_views (actor_id, created_at, id)',
];
