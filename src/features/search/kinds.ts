import type { FormReader } from '@parley/protocol/forms/forms.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import { MESSAGE_INCLUDES } from '@parley/protocol/resources/chat-message.ts';
import { CONVERSATION_INCLUDES } from '@parley/protocol/resources/conversation.ts';
import type { SearchHit } from '@parley/protocol/resources/search-hit.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Downloads } from '../../core/resources/attachment.ts';
import {
  type ConversationRow,
  expandConversations,
  readConversationsById,
} from '../../core/resources/conversation.ts';
import { expandMessages } from '../../core/resources/expanded-message.ts';
import { type MessageRow, messageColumns } from '../../core/resources/message.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type Candidate, type CandidateStatements, candidateStatements } from './candidates.ts';
import { FOUND_MEMBERS, IS_SEARCHABLE, SEARCHED_CHARACTERS, SENT_AT } from './entries.ts';
import type { Field } from './match.ts';
import { IS_READABLE, type Scope, type ScopeValues } from './scope.ts';

/** A kind of searchable content. */
export interface Kind<Item extends Candidate, Row extends { readonly id: string }> {
  readonly candidates: CandidateStatements<Item>;
  /** Returns the texts that are compared with a query. */
  readonly fieldsOf: (item: Item, reader: FormReader) => readonly Field[];
  /** Reads the present rows of hits, without hits that may no longer be shown. */
  readonly readRows: (db: Db, scope: Scope, ids: readonly string[]) => Promise<readonly Row[]>;
  /** Returns the hits' contents from these rows; `include` is `include[]` of the request. */
  readonly present: (
    db: Db,
    files: Downloads,
    principal: Principal,
    rows: readonly Row[],
    include: readonly string[],
  ) => Promise<(row: Row) => Omit<SearchHit, 'object' | 'highlights'>>;
}

/** SQL: whether the caller may find a message of a conversation that it may read. */
const IS_FINDABLE = `${IS_SEARCHABLE} AND ${SENT_AT} <= $8::timestamptz AND ${SENT_AT} > $9::timestamptz
      AND (NOT $4::boolean OR m.visibility <> 'internal')
      AND ($6::text IS NULL OR CASE WHEN $4 THEN m.sender_id ELSE m.author_id END = $6)
      AND (NOT $7::boolean OR (m.has_attachments AND EXISTS (
        SELECT FROM attachments a WHERE a.message_id = m.id AND a.kind IN ('file', 'image')
      )))`;

export const MESSAGES: Kind<Candidate & Pick<MessageRow, 'body' | 'subject'>, MessageRow> = {
  candidates: candidateStatements(
    'messages',
    `SELECT m.id, ${SENT_AT} AS at, left(m.body, ${SEARCHED_CHARACTERS}) AS body, m.subject
      FROM messages m WHERE m.id = f.id AND m.conversation_id = f.conversation_id AND ${IS_FINDABLE}`,
  ),
  fieldsOf({ body, subject }) {
    const fields: Field[] = [];
    if (body !== null) fields.push({ name: 'body', text: body.slice(0, SEARCHED_CHARACTERS), actorId: null });
    if (subject !== null) fields.push({ name: 'subject', text: subject, actorId: null });
    return fields;
  },
  readRows: (db, { values, upper, lower }, ids) => db.query(READ_ROWS, ...values, upper, lower, ids),
  async present(db, files, principal, rows, include) {
    const wanted = MESSAGE_INCLUDES.filter((name) => include.includes(name));
    const messages = await expandMessages(db, files, principal, rows, wanted);
    return (row) => ({
      type: 'message',
      conversation_id: row.conversation_id,
      message: messages.get(row)!,
      conversation: null,
    });
  },
};

const READ_ROWS = statement<
  readonly [...ScopeValues, upper: string, lower: string, ids: readonly string[]],
  MessageRow
>('search-read-rows')`
    SELECT ${messageColumns('m')} FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.id = ANY($10) AND ${IS_FINDABLE} AND ${IS_READABLE}`;

interface ConversationCandidate extends Candidate, Pick<ConversationRow, 'title'> {
  readonly members: readonly Pick<Actor, 'id' | 'name' | 'handle'>[];
}

/**
 * Conversations are found by their title and the names and handles of their members, as far as the
 * caller sees these. Customers search only the title, because they see no other members.
 */
export const CONVERSATIONS: Kind<ConversationCandidate, ConversationRow> = {
  candidates: candidateStatements(
    'conversations',
    `SELECT c.id, c.created_at AS at, c.title, CASE WHEN $4::boolean THEN '[]' ELSE (
        SELECT coalesce(json_agg(a), '[]') FROM (${FOUND_MEMBERS}) a
      ) END AS members
      FROM conversations c WHERE c.id = f.id AND $6::text IS NULL AND NOT $7::boolean
        AND c.created_at <= $8::timestamptz AND c.created_at > $9::timestamptz`,
  ),
  fieldsOf({ title, members }, { seesHandles, actor }) {
    const fields: Field[] = [];
    if (title !== null) fields.push({ name: 'title', text: title, actorId: null });
    for (const { id, name, handle } of members) {
      if (name !== null) fields.push({ name: 'member_name', text: name, actorId: id });
      if (handle !== null && (seesHandles || id === actor.id)) {
        fields.push({ name: 'member_handle', text: handle, actorId: id });
      }
    }
    return fields;
  },
  async readRows(db, _scope, ids) {
    const rows = await readConversationsById(db, ids);
    return rows.filter(({ deleted_at }) => deleted_at === null);
  },
  async present(db, _files, principal, rows, include) {
    const wanted = CONVERSATION_INCLUDES.filter((name) => include.includes(name));
    const options = { participantActors: true };
    const conversations = await expandConversations(db, principal, rows, wanted, options);
    return ({ id }) => ({
      type: 'conversation',
      conversation_id: id,
      message: null,
      conversation: conversations.get(id)!,
    });
  },
};
