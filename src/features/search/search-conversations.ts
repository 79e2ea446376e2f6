import { type ConversationRow, readConversationsById } from '../../core/resources/conversation.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Db } from '../../platform/db/handle.ts';
import type { KeysetPage } from '../../platform/db/keyset.ts';
import { highlightsOf, type ShownField } from './excerpt.ts';
import {
  type ConversationCandidate,
  readBlocks,
  readConversationsIn,
  readRecentHeads,
} from './find-store.ts';
import { lexemesOf } from './lexemes.ts';
import { type Match, matchFields } from './match.ts';
import { anyOf, indexQuery, type Phrase } from './query.ts';
import { type Found, type Result, readResults } from './results.ts';
import { readScope } from './scope.ts';

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
      readItems: (period, blocks) => readConversationsIn(db, scope, period, blocks),
      readRecent: (period) => readRecentHeads(db, scope, period),
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
