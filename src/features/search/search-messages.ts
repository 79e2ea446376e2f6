import type { MessageRow } from '../../core/resources/message.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Db } from '../../platform/db/handle.ts';
import type { KeysetPage } from '../../platform/db/keyset.ts';
import { SEARCHED_CHARACTERS } from './blocks.ts';
import { highlightsOf, type ShownField } from './excerpt.ts';
import {
  type Candidate,
  type FoundBlock,
  type MessageFilters,
  readBlocks,
  readFound,
  readMessagesIn,
  readRecent,
  type Way,
} from './find-store.ts';
import { lexemesOf } from './lexemes.ts';
import { type Match, matchFields } from './match.ts';
import { anyOf, indexQuery, type Phrase } from './query.ts';
import { type Found, type Result, readResults } from './results.ts';
import { type Limits, type Period, readScope, type Scope } from './scope.ts';

export interface MessageSearch extends MessageFilters, Limits {
  readonly phrases: readonly Phrase[];
  /** Milliseconds of `performance.now()`. */
  readonly deadlineMs: number;
}

/**
 * Returns the messages of a page that the caller may find. The caller has checked that it may read
 * `conversationId`.
 */
export async function searchMessages(
  db: Db,
  principal: Principal,
  { phrases, deadlineMs, authorId, hasFile, ...limits }: MessageSearch,
  page: KeysetPage,
): Promise<Result<Candidate, Match<ShownField>, Found<MessageRow>>[]> {
  const scope = await readScope(db, principal, limits);
  if (scope.few?.length === 0) return [];
  const filters = { authorId, hasFile };
  const terms = termsOf(phrases, filters, scope);
  const match = (fields: Fields) => matchFields(phrases, fieldsOf(fields));
  return readResults<Candidate, Match<ShownField>, Found<MessageRow>>(
    {
      readBlocks: blockReader(db, scope, terms),
      readItems: (period, blocks) => readMessagesIn(db, scope, filters, period, blocks),
      readRecent: (period) => readRecent(db, scope, filters, period),
      match,
      deadlineMs,
      async confirm(hits) {
        const found = new Map<string, Found<MessageRow>>();
        for (const row of await readFound(db, scope, filters, scope.period, hits)) {
          const matched = match(row);
          if (matched !== undefined) found.set(row.id, { row, highlights: highlightsOf(matched.found) });
        }
        return found;
      },
    },
    scope,
    page,
  );
}

type Fields = Pick<Candidate, 'body' | 'subject'>;

function fieldsOf({ body, subject }: Fields): ShownField[] {
  const fields: ShownField[] = [];
  if (body !== null) fields.push({ name: 'body', text: body.slice(0, SEARCHED_CHARACTERS), actorId: null });
  if (subject !== null) fields.push({ text: subject, name: 'subject', actorId: null });
  return fields;
}

function termsOf(phrases: readonly Phrase[], { authorId, hasFile }: MessageFilters, scope: Scope): string {
  const lexemes = lexemesOf(scope.accountId);
  const further: string[] = [];
  if (authorId !== null) further.push(anyOf([lexemes.author(authorId)]));
  if (hasFile) further.push(anyOf([lexemes.file]));
  if (scope.few !== undefined) further.push(anyOf(scope.few.map((id) => lexemes.conversation(id))));
  return indexQuery(phrases, 'word', lexemes, further);
}

/**
 * A word that many blocks have is found among the newest ones, any other one by the index of the
 * words, which would read every block that has it.
 */
function blockReader(db: Db, scope: Scope, terms: string) {
  let way: Way = scope.few === undefined ? 'newest' : 'words';
  return async (after: FoundBlock | undefined, limit: number, period: Period) => {
    const request = { terms, period, after, limit };
    const blocks = await readBlocks(db, scope, way, request);
    if (way === 'words' || blocks.length === limit) return blocks;
    way = 'words';
    return readBlocks(db, scope, way, request);
  };
}
