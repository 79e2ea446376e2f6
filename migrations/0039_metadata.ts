import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * What an application keeps with its users, customers, conversations, participants, messages and
 * attachments: an object of texts, or null for none. The indexes for filters are built beside the
 * migrations (src/platform/db/migration/indexes.ts).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of TABLES) await sql.raw(`ALTER TABLE ${table} ADD COLUMN metadata jsonb`).execute(db);
}

const TABLES = ['actors', 'conversations', 'participants', 'messages', 'attachments'];
