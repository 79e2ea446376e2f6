import { sql } from 'kysely';
import type { Principal } from '../access/principal.ts';
import type { Db, Tx } from '../db/handle.ts';
import type { Statement } from '../db/statement.ts';
import { type ActorFields, presentActor } from '../protocol/resources/actor.ts';
import type { MessageRevision } from '../protocol/resources/message-revision.ts';
import type { MessageRow } from '../resources/message.ts';

/** Stores the content of `row` before an edit replaces it. Returns the number of the revision. */
export async function keepRevision(tx: Tx, { actor }: Principal, row: MessageRow): Promise<number> {
  const { revision } = await tx.kysely
    .insertInto('message_revisions')
    .values({
      message_id: row.id,
      conversation_id: row.conversation_id,
      revision: sql<number>`(SELECT coalesce(max(revision), 0) + 1 FROM message_revisions WHERE message_id = ${row.id})`,
      body: row.body,
      subject: row.subject,
      cc: row.cc === null ? null : [...row.cc],
      replaced_by: actor.id,
    })
    .returning('revision')
    .executeTakeFirstOrThrow();
  return revision;
}

/** The revisions of a deleted message are deleted with its content. */
export async function removeRevisions(tx: Tx, messageId: string): Promise<void> {
  await tx.kysely.deleteFrom('message_revisions').where('message_id', '=', messageId).execute();
}

export interface RevisionRow extends Omit<MessageRevision, 'object' | 'replaced_by'> {
  readonly replaced_by: ActorFields | null;
}

/** A page of a message's revisions, after a number. */
export interface RevisionStretch {
  readonly order: 'newest_first' | 'oldest_first';
  readonly after: number | null;
  readonly limit: number;
}

export function readRevisions(
  db: Db,
  messageId: string,
  { order, after, limit }: RevisionStretch,
): Promise<RevisionRow[]> {
  return db.query(READ_REVISIONS[order], messageId, after, limit);
}

export function presentRevision({ replaced_by, ...row }: RevisionRow): MessageRevision {
  return { object: 'message_revision', ...row, replaced_by: replaced_by && presentActor(replaced_by) };
}

type Params = [messageId: string, after: number | null, limit: number];

const READ_REVISIONS = {
  newest_first: statement('newest', '<', 'DESC'),
  oldest_first: statement('oldest', '>', 'ASC'),
} as const;

function statement(end: string, beyond: '<' | '>', order: 'ASC' | 'DESC'): Statement<Params, RevisionRow> {
  return {
    name: `list-message-revisions-${end}`,
    text: `
    SELECT r.message_id, r.revision, r.body, r.subject, r.cc, r.replaced_at,
      CASE WHEN a.id IS NOT NULL THEN jsonb_build_object(
        'id', a.id, 'type', a.type, 'name', a.name, 'handle', a.handle, 'avatar_url', a.avatar_url
      ) END AS replaced_by
    FROM message_revisions r LEFT JOIN actors a ON a.id = r.replaced_by
    WHERE r.message_id = $1 AND ($2::integer IS NULL OR r.revision ${beyond} $2)
    ORDER BY r.revision ${order} LIMIT $3`,
  };
}
