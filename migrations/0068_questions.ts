import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * Questions of messages. The message has the question, its state and its answer; the row beside it
 * has what waits for the end (`expires_at` is null once it has ended) and who is to hear of it. A
 * callback is a delivery to an address of its own, signed with the secret of the one webhook of the
 * account that is for callbacks. An agent's call that asks waits for a message.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  'ALTER TABLE messages ADD COLUMN question jsonb',
  `CREATE TABLE questions (
  message_id text COLLATE "C" PRIMARY KEY,
  conversation_id text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  status text NOT NULL DEFAULT 'open',
  expires_at timestamptz,
  ended_at timestamptz,
  answered_by text COLLATE "C",
  callback_url text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
  'CREATE INDEX questions_due ON questions (expires_at) WHERE expires_at IS NOT NULL',
  'CREATE INDEX questions_of_conversation ON questions (conversation_id)',
  'CREATE INDEX questions_of_account ON questions (account_id)',
  'CREATE INDEX questions_answered_by ON questions (answered_by) WHERE answered_by IS NOT NULL',
  'ALTER TABLE webhooks ADD COLUMN is_callback boolean NOT NULL DEFAULT false',
  'CREATE UNIQUE INDEX webhooks_callback ON webhooks (account_id) WHERE is_callback',
  'ALTER TABLE webhook_deliveries ADD COLUMN url text',
  'ALTER TABLE agent_run_actions ADD COLUMN awaits text COLLATE "C"',
];
