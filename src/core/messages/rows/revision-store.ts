import { type ActorFields, presentActor } from '@parley/protocol/resources/actor.ts';
import type { MessageRevision } from '@parley/protocol/resources/chat-message.ts';
import { sql } from 'kysely';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { ACTOR_JSON } from '../../resources/actor.ts';
import type { MessageRow } from '../../resources/message.ts';

/** Stores the content of `row` before an edit replaces it. Returns the number of the revision. */
export async function keepRevision(
  tx: Tx,
  { actor }: Principal,
  row: MessageRow,
  attachmentIds: readonly string[],
): Promise<number> {
  const { revision } = await tx.kysely
    .insertInto('message_revisions')
    .values({
      message_id: row.id,
      conversation_id: row.conversation_id,
      revision: sql<number>`(SELECT coalesce(max(revision), 0) + 1 FROM message_revisions WHERE message_id = ${row.id})`,
      body: row.body,
      subject: row.subject,
      cc: row.cc,
      mentions: [...(row.mentions ?? [])],
      attachment_ids: [...attachmentIds],
      replaced_by: actor.id,
    })
    .returning('revision')
    .executeTakeFirstOrThrow();
  return revision;
}

/** SQL: the columns and the source of a RevisionRow. */
export const REVISION = {
  columns: `r.message_id, r.revision, r.body, r.subject, r.cc, r.mentions, r.attachment_ids, r.replaced_at,
      CASE WHEN a.id IS NOT NULL THEN ${ACTOR_JSON} END AS replaced_by`,
  from: 'message_revisions r LEFT JOIN actors a ON a.id = r.replaced_by',
};

export const REVISIONS = keysetList<[messageId: string], RevisionRow>({
  name: 'list-message-revisions',
  ...REVISION,
  where: 'r.message_id = $1',
  key: [['r.revision', 'integer']],
  largeText: 'r.body',
});

export interface RevisionRow extends Omit<MessageRevision, 'object' | 'replaced_by'> {
  readonly replaced_by: ActorFields | null;
}

export function presentRevision({ replaced_by, ...row }: RevisionRow): MessageRevision {
  return { object: 'message_revision', ...row, replaced_by: replaced_by && presentActor(replaced_by) };
}
