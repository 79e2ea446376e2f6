import { type ConversationRow, readConversationsById } from '../../core/resources/conversation.ts';
import { IS_MEMBER } from '../../core/resources/participant.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import { statement, type Value } from '../../platform/db/connection/statement.ts';
import { highlightsOf, type ShownField } from './excerpt.ts';
import { blockReader, RECENT } from './find-blocks.ts';
import { anyOf, indexQuery, lexemesOf } from './query.ts';
import { type Result, readResults, type Wanted } from './results.ts';
import { IS_READABLE, type Period, readScope, type Scoped, scopeValues } from './scope.ts';

/** The fields of a conversation that are compared with a query. */
interface ConversationCandidate {
  readonly id: string;
  /** The time of creation. */
  readonly at: string;
  readonly title: string | null;
  readonly members: readonly {
    readonly id: string;
    readonly name: string | null;
    readonly handle: string | null;
  }[];
}

/**
 * Returns a page of the conversations that the caller may find by their title and the names and
 * handles of their members. Customers search the title alone, because they see no one else in them.
 */
export async function searchConversations(
  db: Db,
  principal: Principal,
  { phrases, deadlineMs }: Wanted,
  page: KeysetPage,
): Promise<Result<ConversationRow>[]> {
  const scope = await readScope(db, principal, { conversationId: null, before: null, after: null });
  if (scope.few?.length === 0) return [];
  const lexemes = lexemesOf(scope.accountId);
  const own = scope.few === undefined ? [] : [anyOf(scope.few.map(lexemes.conversation))];
  const values = ({ upper, lower }: Period) => [...scopeValues(scope), upper, lower] as const;
  return readResults<ConversationCandidate, ConversationRow>(
    {
      phrases,
      deadlineMs,
      fieldsOf,
      readBlocks: blockReader(db, scope, indexQuery(phrases, lexemes.name, own), 'words'),
      readItems(period, blocks) {
        const ids = blocks.map((block) => block.conversation_id);
        return db.query(READ_CONVERSATIONS_IN, ...values(period), ids);
      },
      readRecent: (period) => db.query(READ_RECENT_HEADS, ...values(period)),
      async confirm(hits) {
        const matches = new Map(hits.map(({ item, match }) => [item.id, match]));
        const rows = await readConversationsById(db, [...matches.keys()]);
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

/** Members of a conversation whose names are compared: those that are indexed. */
const MAX_MEMBERS = 500;

/**
 * Returns a statement that reads, by ids, the conversations of a period that the caller may read.
 */
function readCandidates<Params extends readonly Value[]>(name: string, ids: string) {
  return statement<Scoped<[upper: string, lower: string, ...Params]>, ConversationCandidate>(name)`
    SELECT c.* FROM (${ids}) n(id) CROSS JOIN LATERAL (
      SELECT c.id, c.created_at AS at, c.title, CASE WHEN $4::boolean THEN '[]' ELSE (
        SELECT coalesce(json_agg(a), '[]') FROM (
          SELECT a.id, a.name, a.handle FROM participants p JOIN actors a ON a.id = p.actor_id
          WHERE p.conversation_id = c.id AND p.${IS_MEMBER}
          ORDER BY p.created_at, p.id LIMIT ${MAX_MEMBERS}
        ) a
      ) END AS members
      FROM conversations c
      WHERE c.id = n.id AND c.created_at <= $6::timestamptz AND c.created_at > $7::timestamptz AND ${IS_READABLE} OFFSET 0
    ) c`;
}

const READ_CONVERSATIONS_IN = readCandidates<[ids: readonly string[]]>(
  'search-read-conversations-in',
  'SELECT unnest($8::text[])',
);

const READ_RECENT_HEADS = readCandidates<[]>(
  'search-read-recent-heads',
  `SELECT DISTINCT n.id FROM (SELECT * FROM search_changes ORDER BY id DESC LIMIT ${RECENT.changes}) s,
      unnest(s.conversation_ids) AS n(id)
    LIMIT ${RECENT.messages}`,
);
