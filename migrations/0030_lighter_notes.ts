import { type Kysely, sql } from 'kysely';

/**
 * search_changes: the ids of a removal are some 60 kB, which lived for half a second and were compressed by Postgres all
 * the same. Without that, and with changes of conversations on a path of their own, the trigger takes 0.5 us of processor
 * time a message, before 1.9.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `ALTER TABLE search_changes ALTER sent_ids SET STORAGE EXTERNAL, ALTER sent_of SET STORAGE EXTERNAL`,

  `CREATE OR REPLACE FUNCTION note_done_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO search_changes (sent_ids, sent_of)
      SELECT array_agg(m->>'id'), array_agg(m->>'conversation_id')
      FROM done, jsonb_array_elements(done.payload->'messages') AS m
      WHERE done.topic = 'messages.sent'
      HAVING count(*) > 0;

      INSERT INTO search_changes (conversation_ids)
      SELECT array_agg(DISTINCT c->>'stream')
      FROM done, jsonb_array_elements(done.payload->'changes') AS c
      WHERE done.topic = 'changed' AND c->>'event' IN
        ('conversation.updated', 'participant.added', 'participant.updated', 'participant.removed')
      HAVING count(*) > 0;
      RETURN NULL;
    END $$`,
];
