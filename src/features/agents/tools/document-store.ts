import type { RunRow } from '../../../core/resources/run.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';

/** A document that an agent may read: an attachment or an artifact. */
export interface DocumentFile {
  readonly kind: string;
  /** Null if the document is not a file. */
  readonly s3_key: string | null;
  readonly filename: string | null;
  readonly content_type: string | null;
  readonly size_bytes: number | null;
}

export interface AttachedDocument extends DocumentFile {
  readonly conversation_id: string;
  readonly message_id: string;
}

/** Returns an attachment of any account, or undefined if there is none. */
export function readAttachedDocument(db: Db, id: string): Promise<AttachedDocument | undefined> {
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
