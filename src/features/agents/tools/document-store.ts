import type { Selectable } from 'kysely';
import type { RunRow } from '../../../core/resources/run.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

/** A document that an agent may read: an attachment or an artifact, which may be no file. */
export type DocumentFile = Pick<
  Selectable<Schema['attachments']>,
  's3_key' | 'filename' | 'content_type' | 'size_bytes'
> & { readonly kind: string };

/** Returns an attachment of any account, or undefined if there is none. */
export function readAttachedDocument(db: Db, id: string) {
  return db.kysely
    .selectFrom('attachments')
    .select(['conversation_id', 'message_id', 'kind', 's3_key', 'filename', 'content_type', 'size_bytes'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns the agent and the conversation of a run. */
export function readRunPlace(db: Db, runId: string): Promise<Pick<RunRow, 'actor_id' | 'conversation_id'>> {
  return db.kysely
    .selectFrom('agent_runs')
    .select(['actor_id', 'conversation_id'])
    .where('id', '=', runId)
    .executeTakeFirstOrThrow();
}
