import { type ConversationRow, readConversationsById } from '../../core/resources/conversation.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { highlightsOf, type ShownField } from './excerpt.ts';
import { RECENT, readBlocks } from './find-blocks.ts';
import { lexemesOf } from './lexemes.ts';
import { type Match, matchFields } from './match.ts';
import { anyOf, indexQuery, type Phrase } from './query.ts';
import { type Found, type Result, readResults } from './results.ts';
import { IS_READABLE, readScope, type Scoped, scopeValues } from './scope.ts';

/** A conversation as far as it is compared with a query. */
interface ConversationCandidate {
  readonly id: string;
  readonly conversation_id: string;
  /** When it was created. */
  readonly at: string;
  readonly title: string | null;
  readonly members: readonly {
    readonly id: string;
    readonly name: string | null;
    readonly handle: string | null;
  }[];
}

export interface ConversationSearch {
  readonly phrases: readonly Phrase[];
  /** Milliseconds of `performance.now()`. */
  readonly deadlineMs: number;
}

/**
 * Returns the conversations of a page that the caller may find, by their title and the names and
 * handles of their members; customers find theirs by the title alone, since they see no one else in
 * them.
 */
export async function searchConversations(
  db: Db,
  principal: Principal,
  { phrases, deadlineMs }: ConversationSearch,
  page: KeysetPage,
): Promise<Result<ConversationCandidate, Match<ShownField>, Found<ConversationRow>>[]> {
  const scope = await readScope(db, principal, { conversationId: null, before: null, after: null });
  if (scope.few?.length === 0) return [];
  const lexemes = lexemesOf(scope.accountId);
  const own = scope.few === undefined ? [] : [anyOf(scope.few.map((id) => lexemes.conversation(id)))];
  const terms = indexQuery(phrases, 'name', lexemes, own);
  const matches = new Map<string, Match<ShownField>>();
  return readResults(
    {
      readBlocks: (after, limit, period) => readBlocks(db, scope, 'words', { terms, period, after, limit }),
      readItems: ({ upper, lower }, blocks) => {
        const ids = blocks.map((block) => block.conversation_id);
        return db.query(READ_CONVERSATIONS_IN, ...scopeValues(scope), upper, lower, ids);
      },
      readRecent: ({ upper, lower }) => db.query(READ_RECENT_HEADS, ...scopeValues(scope), upper, lower),
      match(conversation) {
        const matched = matchFields(phrases, fieldsOf(conversation));
        if (matched !== undefined) matches.set(conversation.id, matched);
        return matched;
      },
      deadlineMs,
      async confirm(hits) {
        const rows = await readConversationsById(
          db,
          hits.map(({ id }) => id),
        );
        return new Map(
          rows
            .filter(({ deleted_at }) => deleted_at === null)
            .map((row) => [row.id, { row, highlights: highlightsOf(matches.get(row.id)!.found) }]),
        );
      },
    },
    scope,
    page,
  );
}

function fieldsOf({ title, members }: ConversationCandidate): ShownField[] {
  const fields: ShownField[] = [];
  if (title !== null) fields.push({ text: title, name: 'title', actorId: null });
  for (const { id, name, handle } of members) {
    if (name !== null) fields.push({ text: name, name: 'member_name', actorId: id });
    if (handle !== null) fields.push({ text: handle, name: 'member_handle', actorId: id });
  }
  return fields;
}

/** Members of a conversation whose names are compared: those that the index has. */
const MAX_MEMBERS = 500;

const CONVERSATION_CANDIDATE = `c.id, c.created_at AS at, c.title, CASE WHEN $4::boolean THEN '[]' ELSE (
        SELECT coalesce(json_agg(a), '[]') FROM (
          SELECT a.id, a.name, a.handle FROM participants p JOIN actors a ON a.id = p.actor_id
          WHERE p.conversation_id = c.id AND p.membership IN ('active', 'hidden')
          ORDER BY p.created_at, p.id LIMIT ${MAX_MEMBERS}
        ) a
      ) END AS members`;

const READ_CONVERSATIONS_IN = statement<
  Scoped<[upper: string, lower: string, ids: readonly string[]]>,
  ConversationCandidate
>({
  name: 'search-read-conversations-in',
  text: `
    SELECT c.id AS conversation_id, c.* FROM unnest($8::text[]) AS n(id) CROSS JOIN LATERAL (
      SELECT ${CONVERSATION_CANDIDATE} FROM conversations c
      WHERE c.id = n.id AND c.created_at <= $6::timestamptz AND c.created_at > $7::timestamptz AND ${IS_READABLE} OFFSET 0
    ) c`,
});

const READ_RECENT_HEADS = statement<Scoped<[upper: string, lower: string]>, ConversationCandidate>({
  name: 'search-read-recent-heads',
  text: `
    WITH noted AS MATERIALIZED (
      SELECT DISTINCT n.id FROM (SELECT * FROM search_changes ORDER BY id DESC LIMIT ${RECENT.changes}) s,
        unnest(s.conversation_ids) AS n(id)
      LIMIT ${RECENT.messages}
    )
    SELECT c.id AS conversation_id, c.* FROM noted n CROSS JOIN LATERAL (
      SELECT ${CONVERSATION_CANDIDATE} FROM conversations c
      WHERE c.id = n.id AND c.created_at <= $6::timestamptz AND c.created_at > $7::timestamptz AND ${IS_READABLE} OFFSET 0
    ) c`,
});
