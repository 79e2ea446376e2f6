import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE FUNCTION later_than(earlier timestamptz) RETURNS timestamptz
    LANGUAGE sql VOLATILE AS $$ SELECT greatest(clock_timestamp(), earlier + interval '1 microsecond') $$`.execute(
    db,
  );

  for (const statement of TABLES) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';
const TIMES = `
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()`;
const CHANGED_IN = 'changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()';

const TABLES = [
  `CREATE TABLE settings (
    name text PRIMARY KEY,
    value text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,

  `CREATE TABLE accounts (
    id ${ID} PRIMARY KEY,
    name text NOT NULL,
    plan text NOT NULL DEFAULT 'free',
    subscription text NOT NULL DEFAULT 'active',
    ${TIMES}
  )`,

  `CREATE TABLE roles (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    name text NOT NULL,
    type text NOT NULL DEFAULT 'user',
    permissions text[] NOT NULL DEFAULT '{}',
    ${TIMES},
    UNIQUE (account_id, name)
  )`,
  `CREATE TABLE actors (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    type text NOT NULL,
    customer boolean NOT NULL DEFAULT false,
    name text,
    handle text,
    avatar_url text,
    role_id ${ID} REFERENCES roles,
    deactivated_at timestamptz,
    ${TIMES}
  )`,
  'CREATE INDEX actors_of_account ON actors (account_id, created_at, id)',

  `CREATE TABLE users (
    id ${ID} PRIMARY KEY REFERENCES actors,
    account_id ${ID} NOT NULL REFERENCES accounts,
    email text NOT NULL,
    ${TIMES},
    UNIQUE (account_id, email)
  )`,

  `CREATE TABLE api_keys (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    redacted text NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    ${TIMES}
  )`,
  'CREATE INDEX api_keys_of_account ON api_keys (account_id, created_at, id)',
  `CREATE TABLE tickets (
    hash bytea PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    credential jsonb NOT NULL,
    expires_at timestamptz NOT NULL
  )`,

  `CREATE TABLE messaging_groups (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    name text NOT NULL,
    ${TIMES},
    UNIQUE (account_id, name)
  )`,

  `CREATE TABLE entities (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    name text,
    handle text,
    ${TIMES}
  )`,
  'CREATE INDEX entities_of_account ON entities (account_id, created_at, id)',

  `CREATE TABLE conversations (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    type text NOT NULL,
    audience text NOT NULL DEFAULT 'internal',
    title text,
    workflow_status text,
    group_id ${ID} REFERENCES messaging_groups,
    status text NOT NULL DEFAULT 'active',
    legal_hold text NOT NULL DEFAULT 'released',
    assignee_id ${ID} REFERENCES actors,
    topic_type text,
    topic_id ${ID},
    ${TIMES},
    ${CHANGED_IN}
  )`,
  'CREATE INDEX conversations_of_account ON conversations (account_id, created_at, id)',

  `CREATE TABLE participants (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    conversation_id ${ID} NOT NULL REFERENCES conversations,
    actor_id ${ID} REFERENCES actors,
    type text NOT NULL,
    role text NOT NULL DEFAULT 'member',
    membership text NOT NULL DEFAULT 'active',
    notifications text NOT NULL DEFAULT 'unmuted',
    agent_trigger_policy text,
    agent_trigger_keywords text[] NOT NULL DEFAULT '{}',
    read_sequence bigint NOT NULL DEFAULT 0,
    ${TIMES},
    ${CHANGED_IN},
    UNIQUE (conversation_id, actor_id)
  )`,
  'CREATE INDEX participants_of_actor ON participants (actor_id)',
  `CREATE TABLE messages (
    id ${ID} NOT NULL,
    account_id ${ID} NOT NULL,
    conversation_id ${ID} NOT NULL,
    sequence bigint CHECK (sequence > 0),
    kind text NOT NULL,
    status text NOT NULL CHECK ((status IN ('sent', 'void')) = (sequence IS NOT NULL)),
    visibility text NOT NULL,
    channel text NOT NULL DEFAULT 'message',
    body text CHECK (length(body) <= 40000 OR kind = 'agent'),
    subject text,
    cc text[],
    mentions text[],
    sender_id ${ID},
    author_id ${ID},
    reply_to_id ${ID},
    resource_type text,
    resource_id ${ID},
    source_thread_message_id ${ID},
    agent_run_id ${ID},
    streaming_state text,
    client_message_id text,
    has_attachments boolean NOT NULL DEFAULT false,
    scheduled_at timestamptz,
    edited_at timestamptz,
    deleted_at timestamptz,
    ${TIMES},
    ${CHANGED_IN},
    PRIMARY KEY (id, conversation_id),
    UNIQUE (conversation_id, sequence),
    UNIQUE (conversation_id, author_id, client_message_id)
  )`,
  'CREATE INDEX messages_changed ON messages (conversation_id, changed_in)',

  `CREATE TABLE attachments (
    id ${ID} NOT NULL,
    conversation_id ${ID} NOT NULL,
    message_id ${ID} NOT NULL,
    position integer NOT NULL,
    kind text NOT NULL,
    s3_key text,
    filename text,
    content_type text,
    size_bytes bigint,
    url text,
    resource_type text,
    resource_id ${ID},
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (message_id, position)
  )`,
  `CREATE TABLE notifications (
    id ${ID} NOT NULL,
    account_id ${ID} NOT NULL,
    recipient_id ${ID} NOT NULL,
    category text NOT NULL,
    title text NOT NULL,
    body text,
    status text NOT NULL DEFAULT 'unseen',
    priority text NOT NULL DEFAULT 'normal',
    sender_id ${ID},
    sender_type text NOT NULL DEFAULT 'system',
    resource_type text,
    resource_id ${ID},
    message_id ${ID},
    seen_at timestamptz,
    read_at timestamptz,
    dismissed_at timestamptz,
    ${TIMES},
    ${CHANGED_IN},
    PRIMARY KEY (id, recipient_id),
    UNIQUE (recipient_id, message_id)
  )`,
  'CREATE INDEX notifications_feed ON notifications (recipient_id, created_at DESC, id DESC)',
  'CREATE INDEX notifications_changed ON notifications (recipient_id, changed_in)',
  `CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic text NOT NULL,
    payload jsonb NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX outbox_due ON outbox (due_at)',

  `CREATE TABLE idempotency_keys (
    hash bytea PRIMARY KEY,
    fingerprint bytea NOT NULL,
    claim text NOT NULL,
    claimed_until timestamptz NOT NULL,
    status integer,
    response bytea,
    encrypted boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at)',
];
