import { ApiError } from '@parley/protocol/errors/errors.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import { MESSAGE_INCLUDES } from '@parley/protocol/resources/chat-message.ts';
import { CONVERSATION_INCLUDES } from '@parley/protocol/resources/conversation.ts';
import { SEARCH_TYPES, SearchHit } from '@parley/protocol/resources/search-hit.ts';
import { IdOf } from '@parley/protocol/schema/external-ids.ts';
import { Include, OneOf, Timestamp } from '@parley/protocol/schema/schema.ts';
import { Type } from 'typebox';
import { defineList, readPage, SearchQuery, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { requireConversationFilter } from '../../core/conversations/directory/access.ts';
import type { ConversationDirectory } from '../../core/conversations/directory/directory.ts';
import { readActorFilter } from '../../core/resources/actor-filter.ts';
import type { Downloads } from '../../core/resources/attachment.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { codeOf } from '../../platform/db/connection/unavailable.ts';
import { KeyedLimiter } from '../../platform/lifecycle.ts';
import { type Candidate, SearchTooLongError } from './candidates.ts';
import { CONVERSATIONS, type Kind, MESSAGES } from './kinds.ts';
import { parseEarlierQuery, parseQuery } from './query.ts';
import { RESULT_KEY, readResults } from './results.ts';
import type { Search } from './scope.ts';

export interface SearchRoutesOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly directory: ConversationDirectory;
}

export function searchRoutes({ database, files, directory }: SearchRoutesOptions): Route[] {
  // One search at a time for each actor, and a few in total, because other requests of the node
  // need connections too.
  const limiter = new KeyedLimiter(SEARCHES_AT_ONCE);
  return [
    defineRoute({
      name: 'search',
      method: 'GET',
      path: '/v1/messaging/search',
      summary: 'Find messages by their words, or conversations by their title and members',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      refuses: ['timeout'],
      query: SearchQuery({
        type: Type.Optional(OneOf(SEARCH_TYPES, { default: 'messages' })),
        conversation_id: Type.Optional(IdOf('conversation')),
        author_id: Type.Optional(IdOf('actor')),
        before: Type.Optional(Timestamp),
        after: Type.Optional(Timestamp),
        has: Type.Optional(OneOf(['file'])),
        'include[]': Include([...MESSAGE_INCLUDES, ...CONVERSATION_INCLUDES]),
      }),
      response: ListOf(SearchHit),
      async handle({ principal, query, url }) {
        const { type = 'messages', conversation_id, author_id, before, after, has } = query;
        const filters = { conversation_id, author_id, before, after, has };
        if (type === 'conversations') refuseFilters(filters);
        const page = readPage(RESULTS, query, { actor: principal.actor.id, type, ...filters });
        const words = wordsOf(page.search);
        if (conversation_id !== undefined) {
          await requireConversationFilter(directory, principal, conversation_id);
        }
        const named = author_id === undefined ? [] : [author_id];
        const [author] = await readActorFilter(database, principal, 'author_id', named);
        const list = async <Item extends Candidate, Row extends { readonly id: string }>(
          kind: Kind<Item, Row>,
        ) => {
          const deadlineMs = performance.now() + SEARCH_MS;
          const search = { ...filters, ...words, author_id: author, deadlineMs };
          const results = await readResults(database, principal, kind, search, page);
          const rows = results.map(({ row }) => row);
          const shown = await kind.present(database, files, principal, rows, query['include[]'] ?? []);
          return toList(
            results,
            page,
            url,
            ({ key }) => key,
            ({ row, highlights }) => ({ object: 'search_hit' as const, ...shown(row), highlights }),
          );
        };
        return limiter.run(principal.actor.id, () =>
          (type === 'messages' ? list(MESSAGES) : list(CONVERSATIONS)).catch(refuseIfTooLong),
        );
      },
    }),
  ];
}

const RESULTS = defineList('search', RESULT_KEY, { isForwardOnly: true });

function wordsOf(search: string | null): Pick<Search, 'phrases' | 'earlier'> {
  if (search === null) {
    throw new ApiError('parameter_missing', 'Send the words to search for as q.', { param: 'q' });
  }
  const phrases = parseQuery(search);
  if (phrases.length > 0) return { phrases, earlier: parseEarlierQuery(search) };
  throw new ApiError('parameter_invalid', 'Search for at least one letter, digit or emoji.', { param: 'q' });
}

function refuseFilters(filters: Readonly<Record<string, unknown>>): void {
  const param = Object.keys(filters).find((name) => filters[name] !== undefined);
  if (param === undefined) return;
  const message = `Only messages are searched by ${param}. Leave it out, or send type=messages.`;
  throw new ApiError('parameters_exclusive', message, { param });
}

/** Throws ApiError `timeout` if the search examined too much. */
function refuseIfTooLong(cause: unknown): never {
  if (!(cause instanceof SearchTooLongError) && codeOf(cause) !== CANCELED) throw cause;
  const message =
    'The search took too long. Add a word, or narrow it with conversation_id, author_id, before or after.';
  throw new ApiError('timeout', message, { param: 'q', cause });
}

const SEARCHES_AT_ONCE = 4;
const SEARCH_MS = 3_000;
/** SQLSTATE of a statement that exceeded its time. */
const CANCELED = '57014';
