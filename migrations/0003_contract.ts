import { type Kysely, sql } from 'kysely';

/** What the whole REST contract keeps besides messages: drafts and schedules, holds, rosters, uploads, refresh tokens. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  // `outcome`: {result, reason, at} of a draft or a scheduled message, once it has one. `attempts`: deliveries
  // of a scheduled one that were refused.
  `ALTER TABLE messages
    ADD COLUMN outcome jsonb,
    ADD COLUMN attempts integer NOT NULL DEFAULT 0`,
  // Both are touched by drafts and scheduled messages alone: a plain send pays for neither.
  "CREATE INDEX messages_scheduled ON messages (scheduled_at) WHERE status = 'scheduled'",
  "CREATE INDEX messages_open_drafts ON messages (conversation_id) WHERE status = 'draft'",

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
  'CREATE UNIQUE INDEX conversations_direct ON conversations (account_id, direct_key) WHERE direct_key IS NOT NULL',
  'CREATE INDEX conversations_changed ON conversations (id, changed_in)',
  'CREATE INDEX participants_changed ON participants (conversation_id, changed_in)',

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

  // Files that may be attached by their `s3_key`. `completed_at`: the bytes are known to be there.
  `CREATE TABLE uploads (
    s3_key text COLLATE "C" PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    filename text NOT NULL,
    content_type text NOT NULL,
    size_bytes bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    completed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
];
