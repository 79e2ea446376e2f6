import type { List } from '@parley/protocol/lists.ts';
import type {
  ChatMessage,
  ForwardMessageBody,
  MessageInclude,
  MessageOutcome,
  MessageRevision,
  MessageStatus,
} from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { ConversationFile } from '@parley/protocol/resources/conversation-file.ts';
import type {
  MEMBERSHIPS,
  Participant,
  ParticipantInput,
  UpdateParticipantBody,
} from '@parley/protocol/resources/participant.ts';
import type { Reaction } from '@parley/protocol/resources/reaction.ts';
import type { Token } from '@parley/protocol/resources/token.ts';
import type { FetchOptions } from '../../rest/pages.ts';
import { type Fetch, pagesOf, type QueryValues, queryOf } from '../../rest/pages.ts';
import { randomId } from '../../rest/rest.ts';
import { messagePath } from './message-path.ts';

/** The query of a list. */
export interface PageSize {
  /** Items of a page: 25 by default, 100 at most. */
  readonly limit?: number;
}

/** The query of List Participants. */
export interface MemberFilter extends PageSize {
  /** Current members by default. */
  readonly membership?: readonly (typeof MEMBERSHIPS)[number][];
}

/** The query of List Messages; one of the three numbers at most. */
export interface HistoryFilter extends PageSize {
  /** `sent` by default. */
  readonly status?: MessageStatus;
  /** Oldest first, behind this number. */
  readonly after_sequence?: number;
  /** Newest first, before this number. */
  readonly before_sequence?: number;
  /** The messages around this number. Requires version 1.2.harbor. */
  readonly around_sequence?: number;
  /** Sub-objects to expand; the others are null. */
  readonly include?: readonly MessageInclude[];
}

/** The body of Forward Message, whose `client_message_id` is made if it is absent. */
export type ForwardInput = Omit<ForwardMessageBody, 'client_message_id'> &
  Partial<Pick<ForwardMessageBody, 'client_message_id'>>;

/**
 * The requests about one conversation that need nothing of its view. What they change is shown when
 * its event arrives. LiveConversation describes what they do.
 */
export abstract class ConversationRequests {
  /** The path of the conversation. */
  readonly path: string;
  readonly #fetch: Fetch;

  constructor(id: string, fetch: Fetch) {
    this.path = `/v1/messaging/conversations/${encodeURIComponent(id)}`;
    this.#fetch = fetch;
  }

  message(messageId: string, include: readonly MessageInclude[] = []): Promise<ChatMessage> {
    return this.#fetch(messagePath(messageId, queryOf({ include })));
  }

  history(filter: HistoryFilter = {}): AsyncGenerator<List<ChatMessage>, void, undefined> {
    return this.#pages(`${this.path}/messages`, filter);
  }

  outcome(messageId: string): Promise<MessageOutcome> {
    return this.#fetch(messagePath(messageId, '/outcome'));
  }

  revisions(
    messageId: string,
    filter: PageSize = {},
  ): AsyncGenerator<List<MessageRevision>, void, undefined> {
    return this.#pages(messagePath(messageId, '/revisions'), filter);
  }

  reactions(
    messageId: string,
    filter: PageSize & { readonly emoji?: string } = {},
  ): AsyncGenerator<List<Reaction>, void, undefined> {
    return this.#pages(messagePath(messageId, '/reactions'), filter);
  }

  forward(messageId: string, body: ForwardInput): Promise<ChatMessage> {
    return this.#act(messageId, 'forward', { client_message_id: randomId(), ...body });
  }

  redact(messageId: string, reason: string): Promise<ChatMessage> {
    return this.#act(messageId, 'redact', { reason });
  }

  reject(messageId: string, reason?: string): Promise<ChatMessage> {
    return this.#act(messageId, 'reject', reason === undefined ? undefined : { reason });
  }

  cancel(messageId: string): Promise<ChatMessage> {
    return this.#act(messageId, 'cancel');
  }

  sendNow(messageId: string): Promise<ChatMessage> {
    return this.#act(messageId, 'send-now');
  }

  files(filter: PageSize = {}): AsyncGenerator<List<ConversationFile>, void, undefined> {
    return this.#pages(`${this.path}/files`, filter);
  }

  members(filter: MemberFilter = {}): AsyncGenerator<List<Participant>, void, undefined> {
    return this.#pages(`${this.path}/participants`, filter);
  }

  member(participantId: string): Promise<Participant> {
    return this.#fetch(this.#memberPath(participantId));
  }

  addMember(member: ParticipantInput): Promise<Participant> {
    return this.#fetch(`${this.path}/participants`, { method: 'POST', body: member });
  }

  updateMember(participantId: string, changes: UpdateParticipantBody): Promise<Participant> {
    return this.#fetch(this.#memberPath(participantId), { method: 'PATCH', body: changes });
  }

  removeMember(participantId: string): Promise<Participant> {
    return this.#fetch(this.#memberPath(participantId), { method: 'DELETE' });
  }

  async mute(until: string | null = null): Promise<Participant> {
    const { id } = await this.own();
    return this.updateMember(id, {
      notifications: 'muted',
      ...(until === null ? {} : { muted_until: until }),
    });
  }

  async unmute(): Promise<Participant> {
    return this.updateMember((await this.own()).id, { notifications: 'unmuted' });
  }

  async leave(): Promise<Participant> {
    return this.removeMember((await this.own()).id);
  }

  hide(): Promise<Conversation> {
    return this.#fetch(`${this.path}/actions/hide`, { method: 'POST' });
  }

  unhide(): Promise<Conversation> {
    return this.#fetch(`${this.path}/actions/unhide`, { method: 'POST' });
  }

  customerToken(participantId: string): Promise<Token> {
    const body = { participant_id: participantId };
    return this.#fetch(`${this.path}/actions/customer-token`, { method: 'POST', body });
  }

  /** Returns the caller's own participant. Rejects with `resource_not_found` if there is none. */
  protected abstract own(): Promise<Participant>;

  #memberPath(participantId: string): string {
    return `${this.path}/participants/${encodeURIComponent(participantId)}`;
  }

  #pages<T>(path: string, filter: object): AsyncGenerator<List<T>, void, undefined> {
    return pagesOf<T>(this.#fetch, path, { ...filter } as QueryValues);
  }

  #act(messageId: string, action: string, body?: object): Promise<ChatMessage> {
    const options: FetchOptions = { method: 'POST', ...(body === undefined ? {} : { body }) };
    return this.#fetch(messagePath(messageId, `/actions/${action}?include[]=sender`), options);
  }
}
