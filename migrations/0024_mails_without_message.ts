import { type Kysely, sql } from 'kysely';

/** mails_without_message: mails that carry no message are removed by their age (mail/mail-removal.ts). */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE INDEX mails_without_message ON mails (created_at) WHERE message_id IS NULL`.execute(db);
}
