import type { List } from '../protocol/lists.ts';
import type {
  Conversation,
  ConversationAudience,
  ConversationInclude,
  ConversationType,
  CreateConversationBody,
  WorkflowStatus,
} from '../protocol/resources/conversation.ts';
import { type Fetch, pagesOf } from './pages.ts';

/** The query of List Conversations. */
export interface ConversationFilter {
  readonly status?: Conversation['status'];
  readonly type?: ConversationType;
  readonly audience?: ConversationAudience;
  readonly workflow_status?: WorkflowStatus;
  readonly assignee_id?: string;
  /** Words of the title. */
  readonly q?: string;
  /** 25 by default, 100 at most. */
  readonly limit?: number;
  readonly include?: readonly ConversationInclude[];
}

/** The conversations that the caller may read. */
export class Conversations {
  readonly #fetch: Fetch;

  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  /** Yields pages; each is requested when it is asked for. Rejects as Client.fetch does. */
  list(filter: ConversationFilter = {}): AsyncGenerator<List<Conversation>, void, undefined> {
    return pagesOf<Conversation>(this.#fetch, PATH, { ...filter });
  }

  /** Starts a conversation; a direct message that exists is returned. */
  create(body: CreateConversationBody): Promise<Conversation> {
    return this.#fetch<Conversation>(PATH, { method: 'POST', body });
  }
}

const PATH = '/v1/messaging/conversations';
