import type { List } from '@parley/protocol/lists.ts';
import type { ENTITY_TYPES } from '@parley/protocol/resources/actor.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type {
  Conversation,
  ConversationAudience,
  ConversationInclude,
  ConversationType,
  CreateConversationBody,
  UpdateConversationBody,
  WorkflowStatus,
} from '@parley/protocol/resources/conversation.ts';
import type { INBOX_FILTERS, INBOX_ORDERS } from '@parley/protocol/resources/conversation-values.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type {
  Block,
  Participant,
  ParticipantInput,
  UpdateParticipantBody,
} from '@parley/protocol/resources/participant.ts';
import { type Fetch, type FetchOptions, pagesOf, queryOf } from './pages.ts';
import { CONVERSATIONS, conversationPath, participantPath } from './paths.ts';

/** The query: all but `q`, `type`, `audience` and single values require version 1.2.harbor. */
export interface ConversationFilter {
  /**
   * `activity`: the conversation with the newest message first. `waiting`: cases whose customer
   * waits, the longest first; requires version 1.4.harbor. `created` by default.
   */
  readonly order?: (typeof INBOX_ORDERS)[number];
  /**
   * `unread`, `mine` (owned by the caller), `unassigned` (cases), `snoozed`, or `open` (no resolved
   * cases). All of several hold; they require version 1.4.harbor.
   */
  readonly filter?: (typeof INBOX_FILTERS)[number] | readonly (typeof INBOX_FILTERS)[number][];
  /** As the caller sees it; all but `hidden` by default. */
  readonly status?: Conversation['status'] | readonly Conversation['status'][];
  /** Direct messages, groups, or the account's own conversation of alerts. */
  readonly type?: ConversationType;
  /** `customer`: cases. */
  readonly audience?: ConversationAudience;
  /** Lanes of cases. */
  readonly workflow_status?: WorkflowStatus | readonly WorkflowStatus[];
  /** The owner of cases: an actor, a group, `me` or `none`. */
  readonly assignee_id?: string;
  /** The roster that conversations were started from. Requires version 1.4.harbor. */
  readonly group_id?: string;
  /** The inbox that cases were made with. Requires version 1.4.harbor. */
  readonly inbox_id?: string;
  /** An actor that is a member, or `me`. */
  readonly participant_id?: string;
  /** A customer that is a member. */
  readonly customer_id?: string;
  /** Kind of the resource that `topic_id` names. */
  readonly topic_type?: (typeof ENTITY_TYPES)[number];
  /** What the conversations are about. Only with `topic_type`. */
  readonly topic_id?: string;
  /** Other people's direct messages too, for admins and API keys; audited. */
  readonly direct?: 'all';
  /** Words of the title. */
  readonly q?: string;
  /** The conversation with this id of the application's own. Requires version 1.3.harbor. */
  readonly external_id?: string;
  /** Only conversations with these values in their metadata. Requires version 1.3.harbor. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Only these conversations, 100 at most. Requires version 1.3.harbor. */
  readonly conversation_ids?: readonly string[];
  /** 25 by default, 100 at most. */
  readonly limit?: number;
  /** Sub-objects to expand; others are null. */
  readonly include?: readonly ConversationInclude[];
}

/** A page of conversations. */
export type ConversationPage = List<Conversation> & {
  /** When the walk through the pages began; later activity comes with events. */
  readonly as_of?: string;
};

/** The changes of Conversations.update: absent fields stay, null clears. */
export type ConversationChange = UpdateConversationBody;

/** The changes of Conversations.updateParticipant: absent fields stay. */
export type ParticipantChange = UpdateParticipantBody;

/**
 * The conversations that the caller may read, with all methods on them. All methods reject as
 * Client.fetch does. Client.inbox has a list that stays up to date.
 */
export class Conversations {
  readonly #fetch: Fetch;
  readonly #touched: (conversationId: string) => void;

  /** Use Client.conversations. `touched` is called with each conversation that was changed. */
  constructor(fetch: Fetch, touched: (conversationId: string) => void) {
    this.#fetch = fetch;
    this.#touched = touched;
  }

  /** Yields pages, each requested when asked for. */
  list(filter: ConversationFilter = {}): AsyncGenerator<ConversationPage, void, undefined> {
    return pagesOf<Conversation>(this.#fetch, CONVERSATIONS, { ...filter });
  }

  /** Returns one conversation as the caller sees it. */
  get(id: string, include: readonly ConversationInclude[] = []): Promise<Conversation> {
    return this.#fetch<Conversation>(conversationPath(id, queryOf({ include })));
  }

  /** Returns counts over all conversations, like `inbox.updated`. Requires version 1.2.harbor. */
  summary(): Promise<InboxSummary> {
    return this.#fetch<InboxSummary>(`${CONVERSATIONS}/summary`);
  }

  /** Starts a conversation, or returns an existing direct message. */
  async create(body: CreateConversationBody): Promise<Conversation> {
    const conversation = await this.#fetch<Conversation>(CONVERSATIONS, { method: 'POST', body });
    this.#touched(conversation.id);
    return conversation;
  }

  /** Changes what all members see: title, lane, assignee, topic, or whether it is archived. */
  update(id: string, change: ConversationChange): Promise<Conversation> {
    return this.#change(id, '', { method: 'PATCH', body: change });
  }

  /** Closes the conversation to new messages. */
  archive(id: string): Promise<Conversation> {
    return this.update(id, { status: 'archived' });
  }

  /** Opens an archived conversation again. */
  unarchive(id: string): Promise<Conversation> {
    return this.update(id, { status: 'active' });
  }

  /** Makes a user or group (`act_…`, `grp_…`) the owner of a case; null: none. */
  assign(id: string, assigneeId: string | null): Promise<Conversation> {
    return this.update(id, { assignee_id: assigneeId });
  }

  /** Moves a case to another lane; the service itself sets `new` and `needs_approval`. */
  moveTo(id: string, lane: WorkflowStatus): Promise<Conversation> {
    return this.update(id, { workflow_status: lane });
  }

  /**
   * Puts the conversation under legal hold: nothing in it is deleted, redacted or purged. `audit`
   * has the reason, which requires version 1.3.harbor.
   */
  hold(id: string, reason?: string): Promise<Conversation> {
    return this.#act(id, 'set-legal-hold', { legal_hold: 'held', reason });
  }

  /** Ends the legal hold, with a reason as `hold`. */
  release(id: string, reason?: string): Promise<Conversation> {
    return this.#act(id, 'set-legal-hold', { legal_hold: 'released', reason });
  }

  /** Takes the conversation from the caller's own list until the next message. */
  hide(id: string): Promise<Conversation> {
    return this.#act(id, 'hide');
  }

  /** Shows a hidden conversation in the caller's list again. */
  unhide(id: string): Promise<Conversation> {
    return this.#act(id, 'unhide');
  }

  /**
   * Takes the conversation from the caller's own list until a time (RFC 3339, within the next year)
   * or the next message of another author. Requires version 1.2.harbor.
   */
  snooze(id: string, until?: string | Date): Promise<Conversation> {
    return this.#act(id, 'snooze', until === undefined ? {} : { until: new Date(until).toISOString() });
  }

  /** Ends the caller's snooze. Requires version 1.2.harbor. */
  unsnooze(id: string): Promise<Conversation> {
    return this.#act(id, 'unsnooze');
  }

  /** Moves the caller's read position forward to this message number. */
  markRead(id: string, sequence: number): Promise<Conversation> {
    return this.#act(id, 'mark-read', { sequence });
  }

  /** Moves the read position back: this message and later ones are unread. Requires 1.2.harbor. */
  markUnread(id: string, sequence: number): Promise<Conversation> {
    return this.#act(id, 'mark-unread', { sequence });
  }

  /** Marks all conversations of the caller as read. Requires version 1.2.harbor. */
  markAllRead(): Promise<InboxSummary> {
    return this.#fetch<InboxSummary>(`${CONVERSATIONS}/actions/mark-all-read`, { method: 'POST', body: {} });
  }

  /** Deletes the conversation, which can be restored for 30 days. Requires version 1.2.harbor. */
  delete(id: string): Promise<Conversation> {
    return this.#change(id, '', { method: 'DELETE' });
  }

  /** Brings a deleted conversation back. Requires version 1.2.harbor. */
  restore(id: string): Promise<Conversation> {
    return this.#act(id, 'restore');
  }

  /** Adds a user, agent or customer, or a former participant again. */
  addParticipant(id: string, participant: ParticipantInput): Promise<Participant> {
    return this.#change(id, '/participants', { method: 'POST', body: participant });
  }

  /** Changes a participant: role, notifications, or what starts an agent. */
  updateParticipant(id: string, participantId: string, change: ParticipantChange): Promise<Participant> {
    return this.#change(id, participantPath(participantId), { method: 'PATCH', body: change });
  }

  /** Removes a participant; the caller's own leaves the conversation. */
  removeParticipant(id: string, participantId: string): Promise<Participant> {
    return this.#change(id, participantPath(participantId), { method: 'DELETE' });
  }

  /** Yields pages of changes with their actors and times, newest first. */
  audit(id: string): AsyncGenerator<List<AuditEvent>, void, undefined> {
    return pagesOf<AuditEvent>(this.#fetch, conversationPath(id, '/audit'));
  }

  /**
   * Blocks a customer for the team, or a user for the caller, in their direct message. Requires
   * version 1.2.harbor.
   */
  block(actorId: string): Promise<Block> {
    return this.#ofActor(actorId, 'block');
  }

  /** Ends a block. */
  unblock(actorId: string): Promise<Block> {
    return this.#ofActor(actorId, 'unblock');
  }

  /** Yields pages of the caller's own blocks and those of the team. */
  blocks(): AsyncGenerator<List<Block>, void, undefined> {
    return pagesOf<Block>(this.#fetch, '/v1/messaging/blocks');
  }

  #act(id: string, action: string, body: object = {}): Promise<Conversation> {
    return this.#change(id, `/actions/${action}`, { method: 'POST', body });
  }

  async #change<T>(id: string, path: string, options: FetchOptions): Promise<T> {
    const changed = await this.#fetch<T>(conversationPath(id, path), options);
    this.#touched(id);
    return changed;
  }

  #ofActor(actorId: string, action: 'block' | 'unblock'): Promise<Block> {
    const path = `/v1/messaging/actors/${encodeURIComponent(actorId)}/actions/${action}`;
    return this.#fetch<Block>(path, { method: 'POST', body: {} });
  }
}
