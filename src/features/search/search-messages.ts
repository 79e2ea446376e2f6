import { type MessageRow, messageColumns } from '../../core/resources/message.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type Candidate, candidateStatements } from './candidates.ts';
import { IS_SEARCHABLE, SEARCHED_CHARACTERS, SENT_AT } from './entries.ts';
import type { Field } from './match.ts';
import type { Kind } from './results.ts';
import { IS_READABLE, type ScopeValues } from './scope.ts';

/** The texts of a message that are compared with a query. */
interface Texts {
  readonly body: string | null;
  readonly subject: string | null;
}

function fieldsOf({ body, subject }: Texts): Field[] {
  const fields: Field[] = [];
  if (body !== null) fields.push({ name: 'body', text: body.slice(0, SEARCHED_CHARACTERS), actorId: null });
  if (subject !== null) fields.push({ text: subject, name: 'subject', actorId: null });
  return fields;
}

/** SQL: whether the caller may find a message of a conversation that it may read. */
const IS_FINDABLE = `${IS_SEARCHABLE} AND ${SENT_AT} <= $8::timestamptz AND ${SENT_AT} > $9::timestamptz
      AND (NOT $4::boolean OR m.visibility <> 'internal')
      AND ($6::text IS NULL OR CASE WHEN $4 THEN m.sender_id ELSE m.author_id END = $6)
      AND (NOT $7::boolean OR (m.has_attachments AND EXISTS (
        SELECT FROM attachments a WHERE a.message_id = m.id AND a.kind IN ('file', 'image')
      )))`;

export const MESSAGES: Kind<Candidate & Texts, MessageRow> = {
  words: 'word',
  candidates: candidateStatements(
    'messages',
    `SELECT m.id, ${SENT_AT} AS at, left(m.body, ${SEARCHED_CHARACTERS}) AS body, m.subject
      FROM messages m WHERE m.id = f.id AND m.conversation_id = f.conversation_id AND ${IS_FINDABLE}`,
  ),
  fieldsOf,
  readRows: (db, { values, period }, ids) => db.query(READ_ROWS, ...values, period.upper, period.lower, ids),
  fieldsOfRow: fieldsOf,
};

const READ_ROWS = statement<
  readonly [...ScopeValues, upper: string, lower: string, ids: readonly string[]],
  MessageRow
>('search-read-rows')`
    SELECT ${messageColumns('m')} FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.id = ANY($10) AND ${IS_FINDABLE} AND ${IS_READABLE}`;
