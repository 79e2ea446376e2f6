import { type Kysely, sql } from 'kysely';

/**
 * Both users of a direct message are members: neither can take a right from the other. The changed rows are streamed
 * to clients like any other change.
 *
 * `participants.hidden_after` is the number of the newest message when its actor hid the conversation: a later one
 * brings the conversation back. It is null where the conversation is not hidden, or was hidden by an earlier version.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `UPDATE participants p
    SET role = 'member', updated_at = later_than(p.updated_at), changed_in = pg_current_xact_id()
    FROM conversations c
    WHERE c.id = p.conversation_id AND c.type = 'direct_message' AND p.role <> 'member'`,
  'ALTER TABLE participants ADD COLUMN hidden_after bigint',
];
