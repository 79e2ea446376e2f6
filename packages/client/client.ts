import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ChatMessage, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { CommandFields, CommandResult } from '@parley/protocol/socket/commands.ts';
import type { EventFrame } from '@parley/protocol/socket/events.ts';
import type { ServerFrame } from '@parley/protocol/socket/server-frames.ts';
import type { ConversationHost } from './conversation/conversation-host.ts';
import { FollowedConversation } from './conversation/followed-conversation.ts';
import { type ConversationOptions, LiveConversation } from './conversation/live-conversation.ts';
import { OwnIds } from './conversation/own-ids.ts';
import { SharedFeed } from './conversation/shared-feed.ts';
import { type ClientError, clientError } from './errors/client-error.ts';
import { closed } from './errors/parley-error.ts';
import {
  type ClientEvents,
  type ClientState,
  type ConversationSubscription,
  FEED_EVENTS,
  type FeedEvent,
  type SubscribeOptions,
} from './events/client-events.ts';
import { DeliveredVersions, isNewsOf } from './events/conversation-feed.ts';
import type { Activity } from './link/activity.ts';
import type { CallOptions } from './link/call-scope.ts';
import type { Connection, Incoming } from './link/connection.ts';
import { type RequestOp, Requests, type RequestsHost } from './link/requests.ts';
import { type LinkOptions, type ReadyFrame, SocketLink } from './link/socket-link.ts';
import type { Transport } from './link/transport.ts';
import { LiveApi } from './live-api.ts';
import type { Outbox, OutboxHost } from './outbox/outbox.ts';
import type { FetchOptions } from './rest/pages.ts';
import { bodyOf, Rest, type RestHost, type RestOptions } from './rest/rest.ts';
import type { TypedFetch } from './rest/typed-fetch.ts';
import type { OutboxStore } from './store/outbox-store.ts';
import { onAbort } from './timing/on-abort.ts';

export interface ClientOptions extends Omit<LinkOptions, 'call'>, RestOptions {
  readonly activity: Activity | undefined;
  readonly presence: DeclaredStatus | false;
  readonly store: OutboxStore | undefined;
}

/** One caller's live view of its conversations, over any number of successive connections. */
export class Client extends LiveApi {
  readonly #link: SocketLink;
  readonly #rest: Rest;
  readonly #requests: Requests;
  readonly #outboxHost: OutboxHost;
  /** Undefined until the first conversation is opened, unless there is a store. */
  #outbox: Outbox | undefined;
  readonly #feeds = new Map<string, SharedFeed>();
  /** Feeds that the current connection has not caught up with, and followers behind their feed. */
  readonly #unsettled = new Set<SharedFeed | FollowedConversation>();
  readonly #own = new DeliveredVersions();
  readonly #ownIds: OwnIds;
  /** Everything that changed before it has been passed on. */
  #cursor: string | undefined;
  #actor: Actor | undefined;
  #resuming = false;
  #isClosed = false;
  #state: ClientState = 'connecting';

  /** Use `connect`. */
  constructor(options: ClientOptions) {
    super(options.timing);
    const { timing, activity, credential } = options;
    const { signal: closing } = this.closing;
    const failed = (error: ClientError) => {
      const news = this.connection.failed(error);
      if (news) this.emit('error', news);
    };
    credential.onFailed = (error) => this.#isClosed || failed(clientError('token_source', true, error));
    const restHost: RestHost = { closing, failed, answered: (answer) => this.answered(answer) };
    this.#rest = new Rest(options, restHost);
    const unsent: OutboxHost['unsent'] = (unsent) => this.connection.set({ unsent });
    this.#ownIds = new OwnIds((name) => this.conversations.get(name), timing);
    this.#outboxHost = { ...restHost, timing, rest: this.#rest, unsent };
    this.#outbox = options.store?.outbox(this.#outboxHost);
    this.host.pages = this.#outbox?.pages;
    const requestsHost: RequestsHost = {
      timing,
      closing,
      current: () => this.#link.current,
      isAway: () => activity?.isActive() === false,
      isCaughtUp: (conversationId) => {
        const feed = this.#feeds.get(conversationId);
        return feed === undefined || !this.#unsettled.has(feed);
      },
    };
    this.#requests = new Requests(requestsHost, options.presence);
    options.originCheck.onRefused = (refusal) => this.#link.refuse(refusal);
    const call: LinkOptions['call'] = (path, request) => this.#rest.fetch(path, request);
    this.#link = new SocketLink(
      { ...options, call },
      {
        attached: (connection, ready) => this.#attach(connection, ready),
        received: (connection, frame) => this.#received(connection, frame),
        cursorRefused: () => {
          this.#cursor = undefined;
          for (const feed of this.#feeds.values()) feed.goStale();
          this.emit('stale');
        },
        changed: () => this.#changed(),
        failed,
        finished: (end) => {
          this.#requests.end();
          this.#outbox?.ended();
          this.emit('end', end);
        },
      },
    );
    this.#link.open();
    if (activity === undefined) return;
    const unwatch = activity.onChange(() => {
      this.#link.wake();
      this.#rest.wake();
      this.#requests.declare();
    });
    onAbort(closing, unwatch);
  }

  override get state(): ClientState {
    return this.#state;
  }

  /** How the client is connected; null without a connection. */
  get transport(): Transport | null {
    return this.#link.current?.transport ?? null;
  }

  /** The caller; undefined until the first connection. */
  override get actor(): Actor | undefined {
    return this.#actor;
  }

  /**
   * Subscribes to a conversation. Its subscriptions share the requests to the server; each receives
   * its events in order and once. Handlers are not called before this returns.
   */
  override subscribe(name: string, options: SubscribeOptions): ConversationSubscription {
    const id = this.#ownIds.known(name);
    if (id !== undefined) return this.#follow(id, options);
    return this.#ownIds.follow(name, options, (found) => this.#follow(found, options));
  }

  #follow(
    conversationId: string,
    { afterSequence, backlog = 0, ...handlers }: SubscribeOptions,
  ): ConversationSubscription {
    const feed = this.#feeds.get(conversationId) ?? this.#open(conversationId);
    const { current } = this.#link;
    // Otherwise the newest is known once the feed has caught up.
    const isNewest = current !== undefined && !this.#unsettled.has(feed);
    const newest = isNewest ? Math.max(0, feed.through - backlog) : undefined;
    const start = { position: afterSequence ?? newest, backlog };
    const follower: FollowedConversation = new FollowedConversation(conversationId, start, handlers, (id) =>
      this.#reload(follower, id),
    );
    feed.add(follower);
    const { position } = follower;
    if (position !== undefined) {
      queueMicrotask(() => {
        if (this.#isOpen(follower)) follower.handlers.onBegin?.(position);
      });
    }
    if (current !== undefined && !feed.isAsked) this.#join(feed, current);
    this.#changed();
    return {
      conversationId,
      get completeThrough() {
        return follower.completeThrough;
      },
      unsubscribe: () => void this.#drop(follower),
    };
  }

  /**
   * Sends typing, presence or a read position over the socket. Waits for a connection, for 10 s in
   * total by default, and repeats the request if the connection ends before the answer. Rejects
   * with ParleyError, or as CallOptions say. Every new connection declares the last presence again.
   */
  override async request<O extends RequestOp>(
    op: O,
    fields: CommandFields<O>,
    options: CallOptions = {},
  ): Promise<CommandResult<O>> {
    if (op !== 'mark_read') return this.#requests.request(op, fields, options);
    const { conversation_id: id, sequence } = fields as CommandFields<'mark_read'>;
    this.emitReading(id, sequence);
    try {
      const result = await this.#requests.request(op, fields, options);
      this.touched(id, true);
      return result;
    } catch (error) {
      this.emitReading(id, 0);
      throw error;
    }
  }

  /** Sends a message once over REST, in as many tries as it takes. Rejects as `fetch` does. */
  send(
    conversationId: string,
    body: string | SendMessageBody,
    options: CallOptions = {},
  ): Promise<ChatMessage> {
    return this.#rest.send(conversationId, bodyOf(body), options);
  }

  /** Opens a view of a conversation, which lasts until its `close()` or the client's. */
  conversation(conversationId: string, options: ConversationOptions = {}): LiveConversation {
    const host: ConversationHost = {
      ...this.host,
      rest: this.#rest,
      conversations: this.conversations,
      ownIds: this.#ownIds,
      outbox: (make) => {
        this.#outbox ??= make(this.#outboxHost);
        return this.#outbox;
      },
      request: (op, fields) => this.request(op, fields),
      upload: (file, given) => this.upload(file, given),
    };
    return new LiveConversation(conversationId, host, options);
  }

  override readonly fetch: TypedFetch = ((path: string, options?: FetchOptions) =>
    this.#rest.fetch(path, options)) as TypedFetch;
  override readonly upload: LiveApi['upload'] = async (...call) => {
    const { upload } = await import('./rest/upload.ts');
    return upload(this.#rest.uploadHost, ...call);
  };
  override readonly importArchive: LiveApi['importArchive'] = async (...call) => {
    const { importArchive } = await import('./rest/import-archive.ts');
    return importArchive(this.#rest.uploadHost, ...call);
  };

  /** Closes the client for good. Rejects whatever is pending with the code `client_closed`. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.closing.abort(closed());
    this.#link.close();
  }

  #open(conversationId: string): SharedFeed {
    const feed = new SharedFeed(conversationId, {
      pageAfter: (after) => this.#rest.messages(conversationId, after),
      isOpen: (follower) => this.#isOpen(follower),
      fellBehind: (follower) => {
        this.#unsettled.add(follower);
        this.#changed();
      },
      caughtUp: (follower) => {
        this.#unsettled.delete(follower);
        this.#check();
      },
      refused: (follower, error) => {
        if (this.#drop(follower)) follower.handlers.onEnd?.(error);
      },
      later: (work) => this.#later(work),
    });
    this.#feeds.set(conversationId, feed);
    this.#unsettled.add(feed);
    return feed;
  }

  /** Requests everything missed, in one request if the connection's server supports it. */
  #attach(connection: Connection, { cursor, actor }: ReadyFrame): void {
    this.#actor = actor;
    this.actors.learn(actor);
    const feeds = [...this.#feeds.values()];
    // A resume that the previous connection did not finish is void.
    this.#resuming = false;
    for (const feed of feeds) {
      this.#unsettled.add(feed);
      if (feed.position === undefined || this.#cursor === undefined) this.#join(feed, connection);
    }
    if (this.#cursor !== undefined) {
      const known = feeds.filter(({ position }) => position !== undefined);
      this.#resume(connection, known, this.#cursor, cursor);
    }
    this.#cursor ??= cursor;
    this.#requests.attached(connection);
    this.#outbox?.attached(actor);
    this.#rest.wake();
    this.#check();
    import('./late.ts').catch(() => {});
  }

  /** Requests missed events; `next` is the cursor to go on from if `cursor` is unknown. */
  #resume(connection: Connection, feeds: readonly SharedFeed[], cursor: string, next = cursor): void {
    this.#resuming = true;
    for (const feed of feeds) feed.isAsked = true;
    const conversations = Object.fromEntries(feeds.map(({ id, position }) => [id, position]));
    connection.ask('resume', { cursor, conversations }, ({ result, error }) => {
      if (connection !== this.#link.current) return;
      const here = feeds.filter((feed) => this.#isOn(feed, connection));
      if (result) for (const feed of here) connection.sending.add(feed);
      if (!error) return;
      if (error.is_transient) {
        this.#link.reopen();
        return;
      }
      // Unknown there, or too much for one request: subscribe one by one, without the changes of
      // older messages.
      this.#resuming = false;
      this.#cursor = next;
      for (const feed of here) {
        feed.goStale();
        this.#join(feed, connection);
      }
      this.emit('stale');
      this.#check();
    });
  }

  #join(feed: SharedFeed, connection: Connection): void {
    const { id, position } = feed;
    feed.isAsked = true;
    connection.ask('subscribe', { conversation_id: id, after_sequence: position }, ({ result, error }) => {
      if (!this.#isOn(feed, connection)) return;
      if (result) {
        connection.sending.add(feed);
        feed.begin((result as CommandResult<'subscribe'>).head_sequence);
      } else if (error?.is_transient) {
        this.#later(() => {
          if (this.#isOn(feed, connection)) this.#join(feed, connection);
        });
      } else if (error) this.#endAll(feed, error);
    });
  }

  #received(connection: Connection, frame: Incoming): void {
    if (frame.type === 'event') this.#receiveEvent(connection, frame);
    else if (connection === this.#link.current) this.#receiveFrame(connection, frame);
  }

  #receiveEvent(connection: Connection, frame: EventFrame): void {
    const { conversation_id: id, event } = frame;
    if (!(event in FEED_EVENTS)) {
      const feed = this.#sentBy(connection, id ?? '');
      if (feed === undefined) return;
      feed.receive(frame);
    } else if (isNewsOf(this.#own, frame)) this.#emitFeed(frame);
    else return;
    this.passed(frame);
  }

  #receiveFrame(connection: Connection, frame: ServerFrame): void {
    switch (frame.type) {
      case 'caught_up': {
        const feed = this.#sentBy(connection, frame.conversation_id);
        if (feed === undefined) return;
        feed.caughtUp(frame.sequence);
        this.#unsettled.delete(feed);
        this.#check();
        return;
      }
      case 'resync':
        this.#resync(connection, frame);
        return;
      case 'resumed':
        this.#resuming = false;
        this.#check();
        if (this.#isSettled) this.#cursor = frame.cursor;
        return;
      case 'ping':
        // Otherwise a resume from this cursor could leave out what is under way.
        if (this.#isSettled) this.#cursor = frame.cursor;
        for (const [id, head] of Object.entries(frame.heads)) this.#verify(connection, id, head);
    }
  }

  /** Handles a head that should have arrived: its message was lost. A resume brings changes too. */
  #verify(connection: Connection, id: string, head: number): void {
    const feed = this.#sentBy(connection, id);
    if (feed === undefined || this.#unsettled.has(feed) || head <= feed.through) return;
    feed.promised = head;
    this.#unsettled.add(feed);
    connection.ask('unsubscribe', { conversation_id: id }, () => {
      if (this.#isOn(feed, connection)) this.#resume(connection, [feed], this.#cursor!);
    });
    this.#changed();
  }

  #resync(connection: Connection, frame: Extract<ServerFrame, { type: 'resync' }>): void {
    if (frame.feed) {
      this.emit('stale');
      return;
    }
    const feed = this.#sentBy(connection, frame.conversation_id ?? '');
    if (feed === undefined) return;
    if (frame.reason === 'revoked') {
      this.#endAll(feed, 'revoked');
      return;
    }
    this.#unsettled.add(feed);
    if (this.#resuming || frame.reason === 'too_old') feed.goStale();
    // Everything in between is fetched over REST, or was purged.
    feed.skipTo(frame.head_sequence ?? 0);
    this.#join(feed, connection);
    this.#changed();
  }

  #reload(follower: FollowedConversation, messageId: string): void {
    this.#rest.message(messageId).then(
      (message) => {
        if (this.#isOpen(follower)) follower.handlers.onUpdate?.(message);
      },
      // The message is gone, or its next change brings it.
      () => {},
    );
  }

  /** Returns the feed that this connection sends under that id. */
  #sentBy(connection: Connection, id: string): SharedFeed | undefined {
    const feed = this.#feeds.get(id);
    return feed !== undefined && connection.sending.has(feed) ? feed : undefined;
  }

  /** Returns whether a request to this connection for the feed still matters. */
  #isOn(feed: SharedFeed, connection: Connection): boolean {
    return connection === this.#link.current && this.#feeds.get(feed.id) === feed;
  }

  #isOpen(follower: FollowedConversation): boolean {
    return !this.#isClosed && this.#feeds.get(follower.id)?.followers.has(follower) === true;
  }

  /** Ends the feed, as the server did. */
  #endAll(feed: SharedFeed, why: ErrorObject | 'revoked'): void {
    feed.isAsked = false;
    const ended = [...feed.followers];
    // All are dropped first, because a handler may subscribe again.
    for (const follower of ended) this.#drop(follower);
    for (const follower of ended) follower.handlers.onEnd?.(why);
  }

  /** Ends the socket's subscription once its last follower is dropped. */
  #drop(follower: FollowedConversation): boolean {
    const feed = this.#feeds.get(follower.id);
    if (feed?.followers.delete(follower) !== true) return false;
    this.#unsettled.delete(follower);
    if (feed.followers.size === 0) {
      this.#feeds.delete(feed.id);
      this.#unsettled.delete(feed);
      const { current } = this.#link;
      current?.sending.delete(feed);
      if (feed.isAsked) current?.ask('unsubscribe', { conversation_id: feed.id }, () => {});
    }
    this.#check();
    return true;
  }

  /** Repeats something after a random delay, because many requests are refused at once. */
  #later(work: () => void): void {
    const { timing } = this.host;
    timing.after(AGAIN_MS * (1 + timing.random()), work);
  }

  get #isSettled(): boolean {
    return this.#link.phase === 'open' && !this.#resuming && this.#unsettled.size === 0;
  }

  #check(): void {
    if (this.#isSettled) this.#link.settled();
    this.#requests.flush();
    this.#changed();
  }

  #changed(): void {
    const state = this.#currentState();
    this.connection.set({ state, transport: this.transport });
    if (state === 'live') this.connection.succeeded();
    if (state === this.#state) return;
    this.#state = state;
    this.emit('state', state);
  }

  #currentState(): ClientState {
    const { phase, leaving } = this.#link;
    if (this.#isSettled) return 'live';
    // The previous connection still sends everything.
    const isBrought = (one: object) => leaving?.sending.has(one);
    if (leaving && this.#state === 'live' && [...this.#unsettled].every(isBrought)) return 'live';
    if (phase === 'open') return 'catching_up';
    return phase === 'opening' ? 'connecting' : 'offline';
  }

  /** Emits a frame, whose type the compiler cannot derive from the event over a union. */
  #emitFeed(frame: EventFrame): void {
    this.emit(frame.event as FeedEvent, ...([frame.data, frame] as unknown as ClientEvents[FeedEvent]));
  }
}

const AGAIN_MS = 1_000;
