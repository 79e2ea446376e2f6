import { type MessageRow, messageColumns } from '../../core/resources/message.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import { statement, type Value } from '../../platform/db/connection/statement.ts';
import { IS_SEARCHABLE, SEARCHED_CHARACTERS, SENT_AT } from './blocks.ts';
import { highlightsOf, type ShownField } from './excerpt.ts';
import { blockReader, RECENT } from './find-blocks.ts';
import { matchFields } from './match.ts';
import { anyOf, indexQuery, lexemesOf } from './query.ts';
import { type Found, type Result, readResults, type Wanted } from './results.ts';
import {
  IS_READABLE,
  type Limits,
  type Period,
  readScope,
  type Scope,
  type Scoped,
  scopeValues,
} from './scope.ts';

/** The fields of a message that are compared with a query. */
interface Candidate {
  readonly id: string;
  readonly conversation_id: string;
  readonly at: string;
  readonly body: string | null;
  readonly subject: string | null;
}

export interface MessageSearch extends Wanted, Limits {
  /** The actor that the caller's kind of reader sees as the author. */
  readonly authorId: string | null;
  readonly hasFile: boolean;
}

/**
 * Returns a page of the messages that the caller may find. The caller must be allowed to read
 * `conversationId`; this is not checked.
 */
export async function searchMessages(
  db: Db,
  principal: Principal,
  search: MessageSearch,
  page: KeysetPage,
): Promise<Result<MessageRow>[]> {
  const { phrases, deadlineMs, authorId, hasFile } = search;
  const scope = await readScope(db, principal, search);
  if (scope.few?.length === 0) return [];
  const values = ({ upper, lower }: Period) =>
    [...scopeValues(scope), upper, lower, authorId, hasFile] as const;
  return readResults<Candidate, MessageRow>(
    {
      phrases,
      deadlineMs,
      fieldsOf,
      readBlocks: blockReader(
        db,
        scope,
        termsOf(search, scope),
        scope.few === undefined ? 'newest' : 'words',
      ),
      readItems: (period, blocks) =>
        db.query(
          READ_MESSAGES_IN,
          ...values(period),
          blocks.map((block) => block.conversation_id),
          blocks.map((block) => block.first_sequence),
          blocks.map((block) => block.last_sequence),
        ),
      readRecent: (period) => db.query(READ_RECENT, ...values(period)),
      async confirm(hits) {
        const found = new Map<string, Found<MessageRow>>();
        const ids = hits.map(({ item }) => item.id);
        const conversationIds = hits.map(({ item }) => item.conversation_id);
        for (const row of await db.query(READ_FOUND, ...values(scope.period), ids, conversationIds)) {
          const match = matchFields(phrases, fieldsOf(row));
          if (match !== undefined) found.set(row.id, { row, highlights: highlightsOf(match.found) });
        }
        return found;
      },
    },
    scope,
    page,
  );
}

function fieldsOf({ body, subject }: Pick<Candidate, 'body' | 'subject'>): ShownField[] {
  const fields: ShownField[] = [];
  if (body !== null) fields.push({ name: 'body', text: body.slice(0, SEARCHED_CHARACTERS), actorId: null });
  if (subject !== null) fields.push({ text: subject, name: 'subject', actorId: null });
  return fields;
}

function termsOf({ phrases, authorId, hasFile }: MessageSearch, { accountId, few }: Scope): string {
  const lexemes = lexemesOf(accountId);
  const further: string[] = [];
  if (authorId !== null) further.push(anyOf([lexemes.author(authorId)]));
  if (hasFile) further.push(anyOf([lexemes.file]));
  if (few !== undefined) further.push(anyOf(few.map(lexemes.conversation)));
  return indexQuery(phrases, lexemes.word, further);
}

const CANDIDATE = `m.id, ${SENT_AT} AS at, left(m.body, ${SEARCHED_CHARACTERS}) AS body, m.subject`;

type Filtered<Params extends readonly Value[]> = Scoped<
  [upper: string, lower: string, authorId: string | null, hasFile: boolean, ...Params]
>;

/** SQL: whether the caller may find a message of a conversation that it may read. */
const IS_FINDABLE = `${IS_SEARCHABLE} AND ${SENT_AT} <= $6::timestamptz AND ${SENT_AT} > $7::timestamptz
          AND (NOT $4::boolean OR m.visibility <> 'internal')
          AND ($8::text IS NULL OR CASE WHEN $4 THEN m.sender_id ELSE m.author_id END = $8)
          AND (NOT $9::boolean OR (m.has_attachments AND EXISTS (
            SELECT FROM attachments a WHERE a.message_id = m.id AND a.kind IN ('file', 'image')
          )))`;

const READ_MESSAGES_IN = statement<
  Filtered<[conversationIds: readonly string[], firsts: readonly number[], lasts: readonly number[]]>,
  Candidate
>('search-read-messages-in')`
    SELECT m.* FROM unnest($10::text[], $11::bigint[], $12::bigint[]) AS b(conversation_id, first, last)
    CROSS JOIN LATERAL (
      SELECT m.conversation_id, ${CANDIDATE} FROM messages m
      WHERE m.conversation_id = b.conversation_id AND m.sequence BETWEEN b.first AND b.last
        AND m.sequence IS NOT NULL AND ${IS_FINDABLE}
      OFFSET 0
    ) m
    WHERE EXISTS (SELECT FROM conversations c WHERE c.id = b.conversation_id AND ${IS_READABLE} OFFSET 0)`;

const READ_RECENT = statement<Filtered<[]>, Candidate>('search-read-recent')`
    WITH noted AS MATERIALIZED (
      SELECT n.conversation_id, n.id FROM (SELECT * FROM search_changes ORDER BY id DESC LIMIT ${RECENT.changes}) s,
        unnest(s.sent_ids || s.changed_ids, s.sent_of || s.changed_of) AS n(id, conversation_id)
      UNION
      SELECT n.conversation_id, n.id FROM (SELECT * FROM outbox ORDER BY id DESC LIMIT ${RECENT.outboxRows}) o,
        jsonb_to_recordset(o.payload -> 'messages') AS n(id text, conversation_id text)
      WHERE o.topic = 'messages.sent'
    ), readable AS MATERIALIZED (
      SELECT n.conversation_id, n.ids FROM (
        SELECT conversation_id, array_agg(id) AS ids FROM noted WHERE $5::text IS NULL OR conversation_id = $5
        GROUP BY conversation_id
      ) n
      WHERE EXISTS (SELECT FROM conversations c WHERE c.id = n.conversation_id AND ${IS_READABLE} OFFSET 0)
    )
    SELECT m.* FROM readable r, unnest(r.ids) AS n(id) CROSS JOIN LATERAL (
      SELECT m.conversation_id, ${CANDIDATE} FROM messages m
      WHERE m.id = n.id AND m.conversation_id = r.conversation_id AND m.sequence IS NOT NULL
        AND ${IS_FINDABLE}
      OFFSET 0
    ) m
    LIMIT ${RECENT.messages}`;

const READ_FOUND = statement<
  Filtered<[ids: readonly string[], conversationIds: readonly string[]]>,
  MessageRow
>('search-read-found')`
    SELECT ${messageColumns('m')} FROM unnest($10::text[], $11::text[]) AS n(id, conversation_id)
    JOIN messages m ON m.id = n.id AND m.conversation_id = n.conversation_id AND m.sequence IS NOT NULL
    WHERE EXISTS (SELECT FROM conversations c WHERE c.id = m.conversation_id AND ${IS_READABLE} OFFSET 0)
      AND ${IS_FINDABLE}`;
