import { type ConversationRow, readConversationsById } from '../../core/resources/conversation.ts';
import { type Candidate, candidateStatements } from './candidates.ts';
import { FOUND_MEMBERS } from './entries.ts';
import type { Field } from './match.ts';
import type { Kind } from './results.ts';

/** The fields of a conversation that are compared with a query. */
interface ConversationCandidate extends Candidate {
  readonly title: string | null;
  readonly members: readonly {
    readonly id: string;
    readonly name: string | null;
    readonly handle: string | null;
  }[];
}

/**
 * Conversations are found by their title and the names and handles of their members. Customers
 * search the title alone, because they see no one else in them.
 */
export const CONVERSATIONS: Kind<ConversationCandidate, ConversationRow> = {
  words: 'name',
  candidates: candidateStatements(
    'conversations',
    `SELECT c.id, c.created_at AS at, c.title, CASE WHEN $4::boolean THEN '[]' ELSE (
        SELECT coalesce(json_agg(a), '[]') FROM (${FOUND_MEMBERS}) a
      ) END AS members
      FROM conversations c WHERE c.id = f.id AND $6::text IS NULL AND NOT $7::boolean
        AND c.created_at <= $8::timestamptz AND c.created_at > $9::timestamptz`,
  ),
  fieldsOf({ title, members }) {
    const fields: Field[] = [];
    if (title !== null) fields.push({ text: title, name: 'title', actorId: null });
    for (const { id, name, handle } of members) {
      if (name !== null) fields.push({ text: name, name: 'member_name', actorId: id });
      if (handle !== null) fields.push({ text: handle, name: 'member_handle', actorId: id });
    }
    return fields;
  },
  async readRows(db, _scope, ids) {
    const rows = await readConversationsById(db, ids);
    return rows.filter(({ deleted_at }) => deleted_at === null);
  },
};
