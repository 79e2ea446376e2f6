import { type Kysely, sql } from 'kysely';

/**
 * What is taken away: the content of a message (docs/contract.md#redaction), a conversation, an account.
 *
 * `messages.redaction` is `{by, reason, at}`. `idempotency_keys.account_id` narrows the search for stored answers that
 * contain a redacted message; rows of nodes of the version before have null. A deleted conversation keeps the key of a
 * direct message apart, so that the two users can begin another one meanwhile.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  'ALTER TABLE messages ADD COLUMN redaction jsonb',
  `ALTER TABLE idempotency_keys ADD COLUMN account_id ${ID}`,
  `ALTER TABLE conversations
    ADD COLUMN deleted_at timestamptz,
    ADD COLUMN deleted_by ${ID},
    ADD COLUMN deleted_direct_key text`,
  'CREATE INDEX conversations_deleted ON conversations (deleted_at) WHERE deleted_at IS NOT NULL',
  'ALTER TABLE accounts ADD COLUMN deleted_at timestamptz',
];
