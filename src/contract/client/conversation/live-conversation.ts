import type { ErrorObject } from '../../protocol/error-envelope.ts';
import type { List } from '../../protocol/lists.ts';
import type { Actor } from '../../protocol/resources/actor.ts';
import type { ChatMessage, SendMessageBody } from '../../protocol/resources/chat-message.ts';
import type { MEMBERSHIPS, Participant } from '../../protocol/resources/participant.ts';
import type { MessageReactions } from '../../protocol/resources/reaction.ts';
import type { PresenceStatus } from '../../protocol/socket/activity.ts';
import type { CommandFields, CommandResult } from '../../protocol/socket/commands.ts';
import type { EventOf } from '../../protocol/socket/event-data.ts';
import { Listeners } from '../client-events.ts';
import type { CallOptions } from '../link/call-scope.ts';
import type { RequestOp } from '../link/requests.ts';
import type { Timing } from '../link/timing.ts';
import { type Fetch, pagesOf } from '../rest/pages.ts';
import { type Page, type Rest, randomId } from '../rest/rest.ts';
import type { AttachmentInput, UploadOptions } from '../rest/upload.ts';
import type { ConversationHandlers } from './conversation-feed.ts';
import { Timeline, type TimelineMessage } from './timeline.ts';

export type ConversationEvents = {
  /** `messages`, `typingActors`, `presence`, `reads` or `hasOlder` changed, once for a moment. */
  readonly change: readonly [];
  /** Any other event of the conversation, such as `draft.created` and `participant.added`. */
  readonly event: readonly [frame: EventOf];
  /** The conversation cannot be read, or no longer; its messages are dropped. */
  readonly end: readonly [why: ErrorObject | 'revoked'];
};

export interface ConversationOptions {
  /** Messages of the first page and of each `loadOlder`; 30 by default, 100 at most. */
  readonly pageSize?: number;
}

/** The query of List Participants. */
export interface MemberFilter {
  /** Current members by default. */
  readonly membership?: readonly (typeof MEMBERSHIPS)[number][];
  /** 25 by default, 100 at most. */
  readonly limit?: number;
}

/** The requests of a conversation to its client. */
export interface ConversationHost {
  readonly timing: Pick<Timing, 'after'>;
  readonly rest: Pick<Rest, 'messages' | 'send'>;
  readonly fetch: Fetch;
  actor(): Actor | undefined;
  subscribe(conversationId: string, handlers: ConversationHandlers): { unsubscribe(): void };
  request<O extends RequestOp>(op: O, fields: CommandFields<O>): Promise<CommandResult<O>>;
  upload(file: Blob & { readonly name?: string }, options: UploadOptions): Promise<AttachmentInput>;
}

/**
 * A conversation as a page shows it: its newest messages, older ones on request, and local echoes
 * of messages that are being sent. It is subscribed to before it is loaded, so nothing is missed.
 */
export class LiveConversation {
  readonly id: string;
  /** Resolves once the newest are loaded. Rejects as Client.fetch does; `loadOlder` retries. */
  readonly opened: Promise<void>;
  readonly #host: ConversationHost;
  readonly #pageSize: number;
  readonly #timeline: Timeline;
  readonly #listeners = new Listeners<ConversationEvents>();
  readonly #subscription: { unsubscribe(): void };
  readonly #typing = new Map<string, () => void>();
  readonly #presence = new Map<string, PresenceStatus>();
  readonly #reads = new Map<string, number>();
  /** The number after which messages arrive live. */
  #liveAfter: number | undefined;
  #hasOlder = true;
  #loading: Promise<unknown> = Promise.resolve();
  #sending: Promise<unknown> = Promise.resolve();
  #markedRead = 0;
  /** Cancels the wait before the next `typing`; undefined while it may be declared. */
  #stopDeclaring: (() => void) | undefined;
  #isChanged = false;
  #isClosed = false;

  constructor(id: string, host: ConversationHost, { pageSize = 30 }: ConversationOptions = {}) {
    this.id = id;
    this.#host = host;
    this.#pageSize = pageSize;
    this.#timeline = new Timeline(() => host.actor());
    let opening!: { resolve(): void; reject(why: unknown): void };
    this.opened = new Promise<void>((resolve, reject) => {
      opening = { resolve, reject };
    });
    void handled(this.opened);
    this.#subscription = host.subscribe(id, {
      onBegin: (after) => {
        this.#liveAfter = after;
        this.loadOlder().then(() => opening.resolve(), opening.reject);
      },
      onMessage: (message) => {
        this.#timeline.receive(message);
        if (message.sender !== null) this.#stopTyping(message.sender.id);
        this.#changed();
      },
      onUpdate: (message) => {
        this.#timeline.update(message);
        this.#changed();
      },
      onStreaming: (writing) => {
        this.#timeline.write(writing);
        this.#changed();
      },
      onPurged: (through) => {
        this.#timeline.drop(through);
        this.#changed();
      },
      onEvent: (frame) => this.#follow(frame),
      onStale: () => this.#reload(),
      onEnd: (why) => {
        opening.reject(
          new Error(why === 'revoked' ? 'The conversation can no longer be read.' : why.message),
        );
        this.close();
        this.#timeline.clear();
        this.#hasOlder = false;
        this.#changed();
        this.#listeners.emit('end', why);
      },
    });
  }

  /** The server's messages, then local echoes, in order. The same array until something changes. */
  get messages(): readonly TimelineMessage[] {
    return this.#timeline.messages;
  }

  /** Whether `loadOlder` may find more. */
  get hasOlder(): boolean {
    return this.#hasOlder;
  }

  /** Ids of the other actors that are typing. */
  get typingActors(): readonly string[] {
    return [...this.#typing.keys()];
  }

  /** Known presence, by id of the actor. */
  get presence(): ReadonlyMap<string, PresenceStatus> {
    return this.#presence;
  }

  /** The last message number that each actor is known to have read, by its id. */
  get reads(): ReadonlyMap<string, number> {
    return this.#reads;
  }

  /** Returns the function that removes the listener. */
  on<E extends keyof ConversationEvents>(
    event: E,
    listener: (...args: ConversationEvents[E]) => void,
  ): () => void {
    return this.#listeners.add(event, listener);
  }

  /** Loads the page before the oldest one. Resolves with `hasOlder`, rejects as Client.fetch. */
  loadOlder(): Promise<boolean> {
    return this.#inTurn(async () => {
      const before = this.#timeline.first?.sequence ?? (this.#liveAfter ?? 0) + 1;
      if (this.#isClosed || !this.#hasOlder) return false;
      await this.#timeline.load(async () => {
        const { messages, more } = await this.#page({ before }, this.#pageSize);
        this.#hasOlder = more;
        return messages;
      });
      this.#changed();
      return this.#hasOlder;
    });
  }

  /**
   * Sends a message, which is shown at once as `pending` under its `client_message_id`, until the
   * server has it (`sent`) or has definitely refused it (`failed`). The request is repeated after
   * lost connections; the message is sent once. Messages are sent one after another, in the order
   * of the calls. Rejects as Client.send does; the rejection may be ignored, because `messages`
   * shows it too.
   */
  send(body: string | SendMessageBody, options: CallOptions = {}): Promise<ChatMessage> {
    const request = typeof body === 'string' ? { body } : body;
    const key = request.client_message_id ?? randomId();
    return this.#send(key, { ...request, client_message_id: key }, options);
  }

  /** Sends a failed message again. */
  retry(key: string): Promise<ChatMessage> {
    return this.#send(key, this.#failed(key).request, {});
  }

  /** Removes a failed message from `messages`. */
  discard(key: string): void {
    this.#timeline.discard(this.#failed(key).key);
    this.#changed();
  }

  /** For each keystroke; `false` for a removed text. Asks the server every 3 s at most. */
  typing(isTyping = true): void {
    const isDeclared = this.#stopDeclaring !== undefined;
    if (isTyping === isDeclared) return;
    this.#stopDeclaring?.();
    this.#stopDeclaring = undefined;
    if (isTyping) {
      this.#stopDeclaring = this.#host.timing.after(DECLARE_TYPING_MS, () => {
        this.#stopDeclaring = undefined;
      });
    }
    const state = isTyping ? 'start' : 'stop';
    void handled(this.#host.request('typing', { conversation_id: this.id, state }));
  }

  /** Moves the read position forward (default: newest message). Rejects as Client.request does. */
  async markRead(sequence: number = this.#timeline.last?.sequence ?? 0): Promise<void> {
    if (sequence <= this.#markedRead) return;
    const before = this.#markedRead;
    this.#markedRead = sequence;
    try {
      await this.#host.request('mark_read', { conversation_id: this.id, sequence });
    } catch (error) {
      if (this.#markedRead === sequence) this.#markedRead = before;
      throw error;
    }
  }

  /** Marks a message and all after it unread again. Requires version 1.2.harbor. */
  async markUnread(sequence: number): Promise<void> {
    await this.#host.fetch(`${this.#path}/actions/mark-unread`, { method: 'POST', body: { sequence } });
    this.#markedRead = Math.min(this.#markedRead, sequence - 1);
  }

  /** Adds the caller's reaction. Requires version 1.2.harbor. Rejects as Client.fetch does. */
  react(messageId: string, emoji: string): Promise<void> {
    return this.#react('PUT', messageId, emoji);
  }

  /** Removes the caller's reaction. Rejects as Client.fetch does. */
  unreact(messageId: string, emoji: string): Promise<void> {
    return this.#react('DELETE', messageId, emoji);
  }

  /** Uploads a file for an attachment of a later message. Rejects as Client.upload does. */
  upload(file: Blob & { readonly name?: string }, options: UploadOptions = {}): Promise<AttachmentInput> {
    return this.#host.upload(file, options);
  }

  /** Yields members in the order of joining. Requires 1.2.harbor. Rejects as Client.fetch does. */
  members(filter: MemberFilter = {}): AsyncGenerator<List<Participant>, void, undefined> {
    return pagesOf<Participant>(this.#host.fetch, `${this.#path}/participants`, { ...filter });
  }

  /** Ends the subscription. Messages that are being sent are still sent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#subscription.unsubscribe();
    this.#stopDeclaring?.();
    for (const stop of this.#typing.values()) stop();
    this.#typing.clear();
  }

  get #path(): string {
    return `/v1/messaging/conversations/${encodeURIComponent(this.id)}`;
  }

  async #react(method: 'PUT' | 'DELETE', messageId: string, emoji: string): Promise<void> {
    const path = `/v1/messaging/messages/${encodeURIComponent(messageId)}/reactions/${encodeURIComponent(emoji)}`;
    const { reactions } = await this.#host.fetch<MessageReactions>(path, { method });
    this.#timeline.react(messageId, reactions);
    this.#changed();
  }

  #send(key: string, request: SendMessageBody, options: CallOptions): Promise<ChatMessage> {
    this.#stopDeclaring?.();
    this.#stopDeclaring = undefined;
    this.#timeline.echo(key, request);
    this.#changed();
    const sent = this.#sending.then(async () => {
      try {
        const message = await this.#host.rest.send(this.id, request, options);
        this.#timeline.acknowledge(key, message);
        return message;
      } catch (error) {
        this.#timeline.fail(key, error as Error);
        throw error;
      } finally {
        this.#changed();
      }
    });
    this.#sending = handled(sent);
    return sent;
  }

  #failed(key: string) {
    const message = this.messages.find((one) => one.key === key);
    if (message?.delivery !== 'failed')
      throw new TypeError(`There is no failed message ${JSON.stringify(key)}.`);
    return message;
  }

  #follow(frame: EventOf): void {
    switch (frame.event) {
      case 'typing': {
        const { actor_id: actorId, state } = frame.data;
        this.#stopTyping(actorId);
        if (state === 'start' && actorId !== this.#host.actor()?.id) {
          const over = () => {
            this.#typing.delete(actorId);
            this.#changed();
          };
          this.#typing.set(actorId, this.#host.timing.after(TYPING_MS, over));
        }
        break;
      }
      case 'message.reacted':
        this.#timeline.react(frame.data.message_id, frame.data.reactions);
        break;
      case 'presence':
        this.#presence.set(frame.data.actor_id, frame.data.status);
        break;
      case 'read':
        this.#reads.set(frame.data.actor_id, frame.data.sequence);
        break;
      default:
        this.#listeners.emit('event', frame);
        return;
    }
    this.#changed();
  }

  #stopTyping(actorId: string): void {
    this.#typing.get(actorId)?.();
    this.#typing.delete(actorId);
  }

  /** Changes may be missing: rereads what is shown, or its newest part if that is much. */
  #reload(): void {
    const again = this.#inTurn(async () => {
      const { first, last } = this.#timeline;
      if (this.#isClosed || first === undefined || last === undefined) return;
      const to = last.sequence!;
      const from = Math.max(first.sequence!, to - MOST_RELOADED);
      if (from > first.sequence!) {
        this.#timeline.drop(from - 1);
        this.#hasOlder = true;
      }
      const ids = new Set<string>();
      for (let after = from - 1, more = true; more && after < to; ) {
        await this.#timeline.load(async () => {
          const page = await this.#page({ after }, 100);
          for (const { id } of page.messages) ids.add(id);
          after = page.messages.at(-1)?.sequence ?? to;
          more = page.more;
          return page.messages;
        });
      }
      this.#timeline.keepOnly(ids, { from, to });
      this.#changed();
    });
    again.catch(() => this.#host.timing.after(RELOAD_AGAIN_MS, () => this.#reload()));
  }

  #page(range: { readonly after: number } | { readonly before: number }, limit: number): Promise<Page> {
    return this.#host.rest.messages(this.id, range, limit);
  }

  /** Loads one page after another, because each begins where the previous one ended. */
  #inTurn<T>(load: () => Promise<T>): Promise<T> {
    const loaded = this.#loading.then(load);
    this.#loading = handled(loaded);
    return loaded;
  }

  #changed(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    queueMicrotask(() => {
      this.#isChanged = false;
      this.#listeners.emit('change');
    });
  }
}

/** Resolves in any case, and handles the rejection. */
function handled(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch(() => {});
}

/** Readers end an indicator this long after the last `start` (docs/realtime.md#events). */
const TYPING_MS = 8_000;
const DECLARE_TYPING_MS = 3_000;
const MOST_RELOADED = 300;
const RELOAD_AGAIN_MS = 5_000;
