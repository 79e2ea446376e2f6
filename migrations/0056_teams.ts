import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * The team of a case: the group whose members take part in it. `conversations.team_group_id` is
 * that group, null for cases without one, as all earlier cases. `participants.via_group_id` is the
 * group by which a participant takes part, null for those that were added by name. Whoever left by
 * the group keeps it, and comes back with the group.
 *
 * Postgres itself finds that a team may have changed, whatever statement of whichever node does it,
 * and leaves the participants of open cases to a job (core/conversations/cases/follow-team.ts).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

/** SQL: whether the case in a row of conversations is open. */
function isOpen(row: 'OLD' | 'NEW'): string {
  return `(${row}.status = 'active' AND ${row}.deleted_at IS NULL AND ${row}.workflow_status IS DISTINCT FROM 'resolved')`;
}

const IS_PERSON = "NEW.type = 'user' AND NOT NEW.customer";

const STATEMENTS = [
  'ALTER TABLE conversations ADD COLUMN team_group_id text COLLATE "C"',
  'ALTER TABLE participants ADD COLUMN via_group_id text COLLATE "C"',

  // The assignee, and who takes part by the group alone, decide who is notified of a message.
  `CREATE FUNCTION count_assignment() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.roster_version := NEW.roster_version + 1;
      RETURN NEW;
    END $$`,
  `CREATE TRIGGER roster_assigned BEFORE UPDATE OF assignee_id ON conversations
    FOR EACH ROW WHEN (NEW.team_group_id IS NOT NULL AND OLD.assignee_id IS DISTINCT FROM NEW.assignee_id)
    EXECUTE FUNCTION count_assignment()`,
  `CREATE TRIGGER roster_named AFTER UPDATE OF via_group_id ON participants
    FOR EACH ROW WHEN (OLD.via_group_id IS DISTINCT FROM NEW.via_group_id)
    EXECUTE FUNCTION raise_roster_version()`,

  // A case that is being opened holds its group (cases/team.ts), so that it is either seen here or
  // reads the team as it is afterwards.
  `CREATE FUNCTION follow_teams(groups text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM FROM messaging_groups WHERE id = ANY(groups) ORDER BY id FOR NO KEY UPDATE;
      INSERT INTO jobs AS j (key, topic, payload, due_at)
        SELECT 'team ' || g, 'teams.changed', jsonb_build_object('group_id', g), clock_timestamp()
        FROM unnest(groups) AS g
        WHERE EXISTS (SELECT FROM conversations WHERE team_group_id = g)
          OR EXISTS (SELECT FROM participants WHERE via_group_id = g)
        ORDER BY g
        ON CONFLICT (key) DO UPDATE SET id = excluded.id, payload = excluded.payload, due_at = excluded.due_at,
          attempts = 0;
    END $$`,
  `CREATE FUNCTION follow_members() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM follow_teams((SELECT array_agg(DISTINCT group_id) FROM changed));
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER members_joined_team AFTER INSERT ON group_members REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION follow_members()`,
  `CREATE TRIGGER members_left_team AFTER DELETE ON group_members REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION follow_members()`,
  `CREATE FUNCTION follow_removed_group() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM follow_teams(ARRAY[OLD.id]);
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER group_left_team AFTER DELETE ON messaging_groups
    FOR EACH ROW EXECUTE FUNCTION follow_removed_group()`,

  // Admins stand in for groups without an active user, so each of those changes with them.
  `CREATE FUNCTION follow_person() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM follow_teams((
        SELECT array_agg(g.id) FROM messaging_groups g
        WHERE g.account_id = NEW.account_id AND (
          EXISTS (SELECT FROM group_members m WHERE m.group_id = g.id AND m.actor_id = NEW.id)
          OR NOT EXISTS (
            SELECT FROM group_members m JOIN actors a ON a.id = m.actor_id
            WHERE m.group_id = g.id AND a.type = 'user' AND a.deactivated_at IS NULL))));
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER person_came_to_team AFTER INSERT ON actors
    FOR EACH ROW WHEN (${IS_PERSON} AND NEW.role_id IS NOT NULL) EXECUTE FUNCTION follow_person()`,
  `CREATE TRIGGER person_changed_in_team AFTER UPDATE OF role_id, deactivated_at ON actors
    FOR EACH ROW WHEN (${IS_PERSON} AND (OLD.role_id IS DISTINCT FROM NEW.role_id
      OR (OLD.deactivated_at IS NULL) <> (NEW.deactivated_at IS NULL)))
    EXECUTE FUNCTION follow_person()`,

  // No member joins a case while it is closed, so its team may be another one by now.
  `CREATE FUNCTION follow_reopened() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO jobs AS j (key, topic, payload, due_at)
        VALUES ('team ' || NEW.id, 'teams.changed',
          jsonb_build_object('group_id', NEW.team_group_id, 'conversation_id', NEW.id), clock_timestamp())
        ON CONFLICT (key) DO UPDATE SET id = excluded.id, payload = excluded.payload, due_at = excluded.due_at,
          attempts = 0;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER team_reopened AFTER UPDATE OF workflow_status, status, deleted_at ON conversations
    FOR EACH ROW WHEN (NEW.team_group_id IS NOT NULL AND NOT ${isOpen('OLD')} AND ${isOpen('NEW')})
    EXECUTE FUNCTION follow_reopened()`,
];
