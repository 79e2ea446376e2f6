import type { List } from '../protocol/lists.ts';
import type { ENTITY_TYPES } from '../protocol/resources/actor.ts';
import type {
  Conversation,
  ConversationAudience,
  ConversationInclude,
  ConversationType,
  CreateConversationBody,
  WorkflowStatus,
} from '../protocol/resources/conversation.ts';
import type { INBOX_FILTERS, INBOX_ORDERS, InboxSummary } from '../protocol/resources/inbox.ts';
import { type Fetch, pagesOf, queryOf } from './rest/pages.ts';

/** The query: all but `q`, `type`, `audience` and single values require version 1.2.harbor. */
export interface ConversationFilter {
  /** `activity`: the conversation with the newest message first. `created` by default. */
  readonly order?: (typeof INBOX_ORDERS)[number];
  readonly filter?: (typeof INBOX_FILTERS)[number];
  readonly status?: Conversation['status'] | readonly Conversation['status'][];
  readonly type?: ConversationType;
  readonly audience?: ConversationAudience;
  readonly workflow_status?: WorkflowStatus | readonly WorkflowStatus[];
  /** An actor, a group, `me` or `none`. */
  readonly assignee_id?: string;
  readonly participant_id?: string;
  readonly customer_id?: string;
  readonly topic_type?: (typeof ENTITY_TYPES)[number];
  readonly topic_id?: string;
  /** Other people's direct messages too, for admins and API keys; audited. */
  readonly direct?: 'all';
  /** Words of the title. */
  readonly q?: string;
  /** 25 by default, 100 at most. */
  readonly limit?: number;
  readonly include?: readonly ConversationInclude[];
}

/** A page of conversations. `as_of` is when the walk began; later activity comes with events. */
export type ConversationPage = List<Conversation> & { readonly as_of?: string };

/** The conversations that the caller may read. */
export class Conversations {
  readonly #fetch: Fetch;

  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  /** Yields pages, each requested when asked for. */
  list(filter: ConversationFilter = {}): AsyncGenerator<ConversationPage, void, undefined> {
    return pagesOf<Conversation>(this.#fetch, PATH, { ...filter });
  }

  get(id: string, include: readonly ConversationInclude[] = []): Promise<Conversation> {
    return this.#fetch<Conversation>(`${PATH}/${encodeURIComponent(id)}${queryOf({ include })}`);
  }

  /** Returns counts over all conversations, like `inbox.updated`. Requires version 1.2.harbor. */
  summary(): Promise<InboxSummary> {
    return this.#fetch<InboxSummary>(`${PATH}/summary`);
  }

  /** Starts a conversation, or returns an existing direct message. */
  create(body: CreateConversationBody): Promise<Conversation> {
    return this.#fetch<Conversation>(PATH, { method: 'POST', body });
  }
}

const PATH = '/v1/messaging/conversations';
