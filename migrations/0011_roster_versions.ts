import { type Kysely, sql } from 'kysely';

/**
 * `conversations.roster_version` grows with every change that decides who is notified of a message and which agents it
 * starts: members that come and go, mutes, triggers of agents. A node compares it with the version that its cache was
 * read at (docs/architecture.md#recipients).
 *
 * Postgres itself counts, so that no statement can forget to. Each of these changes holds the lock of its conversation,
 * so versions grow in the order of the commits. Hiding a conversation changes no recipient and does not count: it is
 * done without that lock.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const NOT_COMPARED = `(OLD.membership IN ('active', 'hidden')) = (NEW.membership IN ('active', 'hidden'))`;

const STATEMENTS = [
  'ALTER TABLE conversations ADD COLUMN roster_version bigint NOT NULL DEFAULT 0',
  `CREATE FUNCTION raise_roster_version() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE conversations SET roster_version = roster_version + 1
        WHERE id = coalesce(NEW.conversation_id, OLD.conversation_id);
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER roster_grown AFTER INSERT OR DELETE ON participants
    FOR EACH ROW EXECUTE FUNCTION raise_roster_version()`,
  `CREATE TRIGGER roster_changed AFTER UPDATE ON participants
    FOR EACH ROW WHEN (NOT (${NOT_COMPARED})
      OR OLD.notifications <> NEW.notifications
      OR OLD.agent_trigger_policy IS DISTINCT FROM NEW.agent_trigger_policy
      OR OLD.agent_trigger_keywords IS DISTINCT FROM NEW.agent_trigger_keywords)
    EXECUTE FUNCTION raise_roster_version()`,
];
