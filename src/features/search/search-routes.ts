import { Type } from 'typebox';
import { ApiError } from '../../contract/protocol/errors.ts';
import { ListOf } from '../../contract/protocol/lists.ts';
import { MESSAGE_INCLUDES, type MessageInclude } from '../../contract/protocol/resources/chat-message.ts';
import {
  CONVERSATION_INCLUDES,
  type ConversationInclude,
} from '../../contract/protocol/resources/conversation.ts';
import { SEARCH_TYPES, SearchHit } from '../../contract/protocol/resources/search-hit.ts';
import { Id, Include, OneOf, Timestamp } from '../../contract/protocol/schema/schema.ts';
import { requireConversationFilter } from '../../core/conversations/access.ts';
import type { ConversationDirectory } from '../../core/conversations/directory.ts';
import { readActorFilter } from '../../core/resources/actor-filter.ts';
import type { Downloads } from '../../core/resources/attachment.ts';
import { expandConversations } from '../../core/resources/conversation.ts';
import { expandMessages } from '../../core/resources/expanded-message.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { codeOf } from '../../platform/db/connection/unavailable.ts';
import {
  defineList,
  type Page,
  type PageRequest,
  readPage,
  SearchQuery,
  toList,
} from '../../platform/http/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import { KeyedLimiter } from '../../platform/lifecycle.ts';
import { type Phrase, parseQuery } from './query.ts';
import { RESULT_KEY, readResults, SearchTooLongError } from './results.ts';
import type { Search } from './scope.ts';
import { CONVERSATIONS } from './search-conversations.ts';
import { MESSAGES } from './search-messages.ts';

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
        conversation_id: Type.Optional(Id),
        author_id: Type.Optional(Id),
        before: Type.Optional(Timestamp),
        after: Type.Optional(Timestamp),
        has: Type.Optional(OneOf(['file'])),
        'include[]': Include(INCLUDES),
      }),
      status: 200,
      response: ListOf(SearchHit),
      async handle({ principal, query, url }) {
        const { type = 'messages', conversation_id, author_id, before, after, has } = query;
        const filters = { conversation_id, author_id, before, after, has };
        if (type === 'conversations') refuseFilters(filters);
        const page = readPage(RESULTS, query, { actor: principal.actor.id, type, ...filters });
        const phrases = phrasesOf(page);
        if (conversation_id !== undefined) {
          await requireConversationFilter(directory, principal, conversation_id);
        }
        const authors = await readActorFilter(
          database,
          principal,
          'author_id',
          author_id === undefined ? [] : [author_id],
        );
        const search = {
          phrases,
          conversationId: conversation_id ?? null,
          authorId: authors[0] ?? null,
          hasFile: has === 'file',
          before: before ?? null,
          after: after ?? null,
        };
        const list = type === 'messages' ? listMessages : listConversations;
        return limiter.run(principal.actor.id, () =>
          withinTime((deadlineMs) =>
            list(
              { database, files },
              principal,
              { ...search, deadlineMs },
              page,
              url,
              query['include[]'] ?? [],
            ),
          ),
        );
      },
    }),
  ];
}

const INCLUDES = [...MESSAGE_INCLUDES, ...CONVERSATION_INCLUDES] as const;
type SearchInclude = (typeof INCLUDES)[number];

const RESULTS = defineList('search', RESULT_KEY, { isForwardOnly: true });

type ListHits = (
  sources: Pick<SearchRoutesOptions, 'database' | 'files'>,
  principal: Principal,
  search: Search,
  page: PageRequest,
  url: string,
  include: readonly SearchInclude[],
) => Promise<Page<SearchHit>>;

const listMessages: ListHits = async ({ database, files }, principal, search, page, url, include) => {
  const results = await readResults(database, principal, MESSAGES, search, page);
  const rows = results.map(({ row }) => row);
  const wanted = include.filter((name): name is MessageInclude => isOneOf(MESSAGE_INCLUDES, name));
  const messages = await expandMessages(database, files, principal, rows, wanted);
  return toList(results, page, url, keyOf, ({ row, highlights }) => ({
    object: 'search_hit',
    type: 'message',
    conversation_id: row.conversation_id,
    message: messages.get(row)!,
    conversation: null,
    highlights: [...highlights],
  }));
};

const listConversations: ListHits = async ({ database }, principal, search, page, url, include) => {
  const results = await readResults(database, principal, CONVERSATIONS, search, page);
  const rows = results.map(({ row }) => row);
  const wanted = include.filter((name): name is ConversationInclude => isOneOf(CONVERSATION_INCLUDES, name));
  const conversations = await expandConversations(database, principal, rows, wanted, {
    participantActors: true,
  });
  return toList(results, page, url, keyOf, ({ row, highlights }) => ({
    object: 'search_hit',
    type: 'conversation',
    conversation_id: row.id,
    message: null,
    conversation: conversations.get(row.id)!,
    highlights: [...highlights],
  }));
};

function keyOf<Key>({ key }: { readonly key: Key }): Key {
  return key;
}

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

function phrasesOf({ search }: PageRequest): readonly Phrase[] {
  if (search === null) {
    throw new ApiError('parameter_missing', 'Send the words to search for as q.', { param: 'q' });
  }
  const phrases = parseQuery(search);
  if (phrases.length > 0) return phrases;
  throw new ApiError('parameter_invalid', 'Search for at least one letter, digit or emoji.', { param: 'q' });
}

function refuseFilters(filters: Readonly<Record<string, unknown>>): void {
  const param = Object.keys(filters).find((name) => filters[name] !== undefined);
  if (param === undefined) return;
  const message = `Only messages are searched by ${param}. Leave it out, or send type=messages.`;
  throw new ApiError('parameters_exclusive', message, { param });
}

/** Throws ApiError `timeout` if the search examines too much. */
async function withinTime<T>(search: (deadlineMs: number) => Promise<T>): Promise<T> {
  try {
    return await search(performance.now() + SEARCH_MS);
  } catch (cause) {
    if (!(cause instanceof SearchTooLongError) && codeOf(cause) !== CANCELED) throw cause;
    const message =
      'The search took too long. Add a word, or narrow it with conversation_id, author_id, before or after.';
    throw new ApiError('timeout', message, { param: 'q', cause });
  }
}

const SEARCHES_AT_ONCE = 4;
const SEARCH_MS = 3_000;
/** SQLSTATE of a statement that exceeded its time. */
const CANCELED = '57014';
