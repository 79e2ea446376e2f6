import { type Kysely, sql } from 'kysely';

/** What the whole REST contract keeps besides messages: drafts and schedules, holds, rosters, uploads, refresh tokens. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

/** Whose rows show when they were made and changed, and leave both to their defaults. */
const DATED = [
  ...['accounts', 'roles', 'actors', 'users', 'api_keys', 'messaging_groups', 'entities'],
  ...['conversations', 'participants', 'agent_definitions'],
];

const STATEMENTS = [
  // The two defaults of a new row are one time, so that nothing looks changed that is new.
  ...DATED.map(
    (table) => `ALTER TABLE ${table}
      ALTER COLUMN created_at SET DEFAULT statement_timestamp(),
      ALTER COLUMN updated_at SET DEFAULT statement_timestamp()`,
  ),

  // `outcome`: {result, reason, at} of a draft or a scheduled message, once it has one. `attempts`: deliveries
  // of a scheduled one that were refused.
  `ALTER TABLE messages
    ADD COLUMN outcome jsonb,
    ADD COLUMN attempts integer NOT NULL DEFAULT 0`,
  // All are touched by drafts and scheduled messages alone: a plain send pays for none.
  "CREATE INDEX messages_scheduled ON messages (scheduled_at) WHERE status = 'scheduled'",
  "CREATE INDEX messages_open_drafts ON messages (conversation_id) WHERE status = 'draft'",
  `CREATE INDEX messages_outside ON messages (conversation_id, status, created_at, id)
   WHERE sequence IS NULL`,

  // What an edit replaced while the conversation was held, oldest first.
  `CREATE TABLE message_revisions (
    message_id ${ID} NOT NULL,
    conversation_id ${ID} NOT NULL,
    revision integer NOT NULL,
    body text,
    subject text,
    cc text[],
    replaced_by ${ID} NOT NULL,
    replaced_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (message_id, revision)
  )`,

  // `lane_behind`: where the case returns to when its open draft is decided (workflow_status is
  // needs_approval meanwhile). `direct_key`: the two actors of a direct message, in order: there is one such
  // conversation.
  `ALTER TABLE conversations
    ADD COLUMN lane_behind text,
    ADD COLUMN direct_key text`,
  // The first one of each pair that has one already.
  `UPDATE conversations c SET direct_key = d.direct_key FROM (
     SELECT DISTINCT ON (p.account_id, p.direct_key) p.conversation_id, p.direct_key
     FROM (
       SELECT account_id, conversation_id, string_agg(actor_id, ' ' ORDER BY actor_id) AS direct_key
       FROM participants GROUP BY account_id, conversation_id HAVING count(*) = 2
     ) p JOIN conversations o ON o.id = p.conversation_id AND o.type = 'direct_message'
     ORDER BY p.account_id, p.direct_key, o.created_at, o.id
   ) d WHERE c.id = d.conversation_id`,
  'CREATE UNIQUE INDEX conversations_direct ON conversations (account_id, direct_key) WHERE direct_key IS NOT NULL',
  // Unmistakable for the planner: these answer what changed and nothing else, and who is where is found by
  // either key of participants.
  'CREATE INDEX conversations_changed ON conversations (id, changed_in) WHERE changed_in IS NOT NULL',
  'CREATE INDEX participants_changed ON participants (conversation_id, changed_in) WHERE changed_in IS NOT NULL',
  'DROP INDEX participants_of_actor',
  'CREATE INDEX participants_of_actor ON participants (actor_id, conversation_id)',

  // Who did what to a conversation, and when: written in the transaction that did it, never changed.
  `CREATE TABLE audit_events (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    conversation_id ${ID} NOT NULL REFERENCES conversations,
    actor_id ${ID} REFERENCES actors,
    action text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX audit_events_of_conversation ON audit_events (conversation_id, created_at, id)',

  // A page is the index's next rows, however much was dismissed; with the status in it a feed is counted from
  // the index alone.
  'DROP INDEX notifications_feed',
  `CREATE INDEX notifications_feed ON notifications (recipient_id, created_at DESC, id DESC) INCLUDE (status)
   WHERE status <> 'dismissed'`,

  // What their lists are read by.
  'CREATE INDEX users_of_account ON users (account_id, created_at, id)',
  'CREATE INDEX messaging_groups_of_account ON messaging_groups (account_id, created_at, id)',

  `CREATE TABLE group_members (
    group_id ${ID} NOT NULL REFERENCES messaging_groups,
    actor_id ${ID} NOT NULL REFERENCES actors,
    position integer NOT NULL,
    PRIMARY KEY (group_id, actor_id)
  )`,

  // Rotated at each use. A used one that comes again revokes its whole family (design.md section 7, tokens).
  `CREATE TABLE refresh_tokens (
    hash bytea PRIMARY KEY,
    family_id text NOT NULL,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX refresh_tokens_of_family ON refresh_tokens (family_id)',
  'CREATE INDEX refresh_tokens_age ON refresh_tokens (expires_at)',

  // Files that may be attached by their `s3_key`. `attached_at`: since when a purge need not look at it any more
  // (attachments/uploads.ts); unset again when a message that has it goes.
  `CREATE TABLE uploads (
    s3_key ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    filename text NOT NULL,
    content_type text NOT NULL,
    size_bytes bigint NOT NULL,
    attached_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX uploads_unattached ON uploads (created_at) WHERE attached_at IS NULL',
  'CREATE INDEX attachments_files ON attachments (s3_key) WHERE s3_key IS NOT NULL',
  `CREATE FUNCTION detach_upload() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE uploads SET attached_at = NULL WHERE s3_key = OLD.s3_key;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER attachments_detach AFTER DELETE ON attachments
    FOR EACH ROW WHEN (OLD.s3_key IS NOT NULL) EXECUTE FUNCTION detach_upload()`,
];
