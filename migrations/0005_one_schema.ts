import { type Kysely, sql } from 'kysely';

/**
 * Brings every earlier state of the schema to the same one. Migrations 0001 and 0004 were edited after databases
 * had been made with them: such a database has the name of the migration but not its later content. Each statement
 * here changes nothing where the content is there already.
 *
 * What it drops of the indexes is built again by src/db/indexes.ts, outside of this transaction.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';
/** Drops an index that has the name but not the form: a full one where a partial one is meant. */
const dropUnlessPartial = (name: string) => `DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('${name}') AND indpred IS NULL) THEN
    DROP INDEX ${name};
  END IF;
END $$`;

const STATEMENTS = [
  // 0001 before b65922f: constraints in place of the partial unique indexes.
  `ALTER TABLE messages
    DROP CONSTRAINT IF EXISTS messages_conversation_id_sequence_key,
    DROP CONSTRAINT IF EXISTS messages_conversation_id_author_id_client_message_id_key`,
  'ALTER TABLE notifications DROP CONSTRAINT IF EXISTS notifications_recipient_id_message_id_key',
  dropUnlessPartial('messages_changed'),
  dropUnlessPartial('notifications_changed'),

  // 0004 before 24b1be2.
  `ALTER TABLE agent_runs ADD COLUMN IF NOT EXISTS root_id ${ID}`,
];
