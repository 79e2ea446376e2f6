import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * webhook_deliveries.tries: the last tries of a delivery with the beginning of each answer, oldest
 * first; null: none is kept. invitations: `id` names an invitation that is mailed, and its secret is
 * derived from it, so that the mail can be written at each try; `invited_by` is the actor whom the
 * mail and the page name. Both are null in rows of earlier nodes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  'ALTER TABLE webhook_deliveries ADD COLUMN tries jsonb',
  `ALTER TABLE invitations ADD COLUMN id ${ID}, ADD COLUMN invited_by ${ID} REFERENCES actors`,
  'CREATE UNIQUE INDEX invitations_id ON invitations (id) WHERE id IS NOT NULL',
];
