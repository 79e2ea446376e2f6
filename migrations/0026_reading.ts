import { type Kysely, sql } from 'kysely';

/**
 * participants.snoozed_until: until when the participant has snoozed the conversation; `infinity` where only a message
 * ends it. participants.snoozed_after: the number of the newest message at that time, because a later one by another
 * author ends the snooze. participants.muted_until: when a mute ends; null where it does not end by itself. None of the
 * three is written when its time has come: readers compare (resources/participant.ts).
 *
 * A mute with another end is another roster, as a mute is (0011_roster_versions.ts).
 *
 * blocks: customers whom the team has blocked (`blocker_id` is null), and users whom a user has blocked.
 * conversations.is_blocked: one of the two users of a direct message has blocked the other. It repeats what `blocks`
 * says, so that the insert of a message finds it in a row that it reads in any case.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `ALTER TABLE participants ADD COLUMN snoozed_until timestamptz, ADD COLUMN snoozed_after bigint,
    ADD COLUMN muted_until timestamptz`,
  `CREATE TRIGGER roster_mute_moved AFTER UPDATE ON participants
    FOR EACH ROW WHEN (OLD.notifications = NEW.notifications AND OLD.muted_until IS DISTINCT FROM NEW.muted_until)
    EXECUTE FUNCTION raise_roster_version()`,

  `CREATE TABLE blocks (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts ON DELETE CASCADE,
    actor_id ${ID} NOT NULL REFERENCES actors ON DELETE CASCADE,
    blocker_id ${ID} REFERENCES actors ON DELETE CASCADE,
    created_by ${ID} NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE UNIQUE INDEX blocks_by_team ON blocks (actor_id) WHERE blocker_id IS NULL',
  'CREATE UNIQUE INDEX blocks_by_user ON blocks (blocker_id, actor_id) WHERE blocker_id IS NOT NULL',
  'CREATE INDEX blocks_of_actor ON blocks (actor_id)',
  'CREATE INDEX blocks_of_account ON blocks (account_id, created_at, id)',
  'ALTER TABLE conversations ADD COLUMN is_blocked boolean NOT NULL DEFAULT false',
];
