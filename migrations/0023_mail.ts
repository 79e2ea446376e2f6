import { type Kysely, sql } from 'kysely';

/**
 * inboxes: the addresses of an account at which customers write. One address is one inbox of one account, so that mail
 * has one place to go. A removed inbox keeps its row, which its mails refer to.
 *
 * conversations.inbox_id: the case is bridged: mail to the inbox becomes messages of it, and replies leave as mail.
 *
 * messages.email_status: what became of the mail of a message, once something has. Null on a sent message of channel
 * `email`: it is queued.
 *
 * mail_threads: one row a bridged case, what its next mail begins with.
 *
 * mails: every mail that came in or goes out, one row each. An id is made of what the mail is (the message that it
 * carries; the inbox, Message-ID and sender of one that came in), so the same mail twice is one row. `rfc_id` is its
 * Message-ID without brackets, by which References are found. `next_try_at` is the next try, or the end of the lease of
 * the node that is at it; null once the mail is not tried any more. The content columns are null once the content was
 * redacted or purged.
 *
 * The default role `member` of each account gets `inboxes:read`, which new accounts give it from now on. Roles cannot be
 * changed otherwise, so none has lost a permission that this would bring back.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE inboxes (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    name text NOT NULL,
    address text NOT NULL,
    group_id ${ID} REFERENCES messaging_groups,
    assignee_id ${ID} REFERENCES actors,
    created_by ${ID} NOT NULL REFERENCES actors,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE UNIQUE INDEX inboxes_address ON inboxes (lower(address)) WHERE deleted_at IS NULL',
  'CREATE INDEX inboxes_of_account ON inboxes (account_id, created_at, id)',

  `ALTER TABLE conversations ADD COLUMN inbox_id ${ID} REFERENCES inboxes`,
  'CREATE INDEX conversations_of_inbox ON conversations (inbox_id) WHERE inbox_id IS NOT NULL',
  'ALTER TABLE messages ADD COLUMN email_status text',

  `CREATE TABLE mail_threads (
    conversation_id ${ID} PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
    account_id ${ID} NOT NULL REFERENCES accounts,
    subject text,
    cc text[] NOT NULL DEFAULT '{}',
    last_in_id ${ID},
    last_out_id ${ID},
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX mail_threads_of_account ON mail_threads (account_id)',

  `CREATE TABLE mails (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    inbox_id ${ID},
    direction text NOT NULL,
    purpose text NOT NULL,
    conversation_id ${ID},
    message_id ${ID},
    actor_id ${ID},
    rfc_id text NOT NULL,
    status text NOT NULL,
    reason text,
    automatic boolean NOT NULL DEFAULT false,
    attempts integer NOT NULL DEFAULT 0,
    next_try_at timestamptz,
    sent_at timestamptz,
    from_address text,
    from_name text,
    reply_to text,
    recipients jsonb NOT NULL DEFAULT '[]',
    subject text,
    in_reply_to text,
    thread_ids text[] NOT NULL DEFAULT '{}',
    verdict jsonb,
    body_text text,
    body_html text,
    source_key ${ID},
    size_bytes bigint,
    trace text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX mails_rfc_id ON mails (account_id, md5(rfc_id))',
  'CREATE INDEX mails_of_conversation ON mails (conversation_id, created_at, id) WHERE conversation_id IS NOT NULL',
  'CREATE UNIQUE INDEX mails_of_message ON mails (message_id) WHERE message_id IS NOT NULL',
  'CREATE INDEX mails_of_account ON mails (account_id, created_at, id)',
  'CREATE INDEX mails_due ON mails (next_try_at) WHERE next_try_at IS NOT NULL',
  'CREATE INDEX mails_of_source ON mails (source_key) WHERE source_key IS NOT NULL',

  `UPDATE roles SET permissions = permissions || '{inboxes:read}', updated_at = later_than(updated_at)
    WHERE type = 'user' AND name = 'member' AND NOT permissions @> '{inboxes:read}'`,
];
