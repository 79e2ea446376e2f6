import type { List } from '../protocol/lists.ts';
import type { MessageInclude } from '../protocol/resources/chat-message.ts';
import type { ConversationInclude } from '../protocol/resources/conversation.ts';
import type { Me } from '../protocol/resources/me.ts';
import type { Person } from '../protocol/resources/person.ts';
import type { SearchHit, SearchType } from '../protocol/resources/search-hit.ts';
import { Conversations } from './conversations.ts';
import { type Fetch, pagesOf } from './rest/pages.ts';
import type { TypedFetch } from './rest/typed-fetch.ts';

/** The query of List People. */
export interface PeopleFilter {
  /** Words of the name or handle. */
  readonly q?: string;
  /** 25 by default, 100 at most. */
  readonly limit?: number;
}

/** The query of Search. All filters but `include` and `limit` are for messages. */
export interface SearchFilter {
  /** `messages` by default. */
  readonly type?: SearchType;
  readonly conversation_id?: string;
  readonly author_id?: string;
  /** RFC 3339. */
  readonly before?: string;
  readonly after?: string;
  readonly has?: 'file';
  /** 25 by default, 100 at most. */
  readonly limit?: number;
  readonly include?: readonly (MessageInclude | ConversationInclude)[];
}

/** The methods of a client that use only REST. All of them reject as `fetch` does. */
export abstract class Api {
  readonly #fetch: Fetch = (path, options) => (this.fetch as Fetch)(path, options);
  readonly conversations: Conversations = new Conversations(this.#fetch);

  /**
   * Sends a JSON request to a path of the API, such as `/v1/messaging/notifications`, with the
   * client's credential, version and account. Tries at most five times; each try has the same
   * Idempotency-Key, so a change happens once. Rejects with ParleyError, or as
   * CallOptions say.
   */
  abstract readonly fetch: TypedFetch;

  /** Returns the caller. Requires version 1.2.harbor, as the other methods here do. */
  me(): Promise<Me> {
    return this.fetch<Me>('/v1/me');
  }

  /** Yields pages of the users and agents whom the caller may write to. */
  people(filter: PeopleFilter = {}): AsyncGenerator<List<Person>, void, undefined> {
    return pagesOf<Person>(this.#fetch, '/v1/messaging/people', { ...filter });
  }

  /** Yields pages of matches, best first: messages, or conversations by title and members. */
  search(q: string, filter: SearchFilter = {}): AsyncGenerator<List<SearchHit>, void, undefined> {
    return pagesOf<SearchHit>(this.#fetch, '/v1/messaging/search', { q, ...filter });
  }
}
