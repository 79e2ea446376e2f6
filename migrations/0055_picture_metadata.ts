import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * Pictures of messages lose their metadata where the account wants it: accounts that exist keep
 * them, and new ones do not. Null in `attachments`: nothing has looked at the file for metadata.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `ALTER TABLE accounts ADD COLUMN picture_metadata text NOT NULL DEFAULT 'keep'`,
  `ALTER TABLE accounts ALTER COLUMN picture_metadata SET DEFAULT 'remove'`,
  'ALTER TABLE attachments ADD COLUMN picture_metadata text',
];
