import type { ChatMessage, SendMessageBody } from '../protocol/chat-message.ts';
import type { CommandResult, Op } from '../protocol/commands.ts';
import type { ErrorObject } from '../protocol/errors.ts';
import { EVENTS, type EventFrame } from '../protocol/events.ts';
import type { ServerFrame } from '../protocol/server-frames.ts';
import type { ConnectionEnd } from './after-close.ts';
import type { Answer, Connection, Incoming } from './connection.ts';
import { ConversationFeed, type ConversationHandlers, isNewsOf } from './conversation-feed.ts';
import { Link, type LinkOptions } from './link.ts';
import { Rest, type RestOptions, RestRefused } from './rest.ts';
import { Seen } from './seen.ts';

/**
 * `connecting`: on the way · `catching_up`: connected, and something that was missed is still to come ·
 * `live`: everything is there and comes as it happens · `offline`: waiting for the next try, or over.
 */
export type ClientState = 'connecting' | 'catching_up' | 'live' | 'offline';

/** What the actor's own feed brings, whichever conversations are subscribed to. */
export type FeedEvent = {
  [E in keyof typeof EVENTS]: (typeof EVENTS)[E]['stream'] extends 'actor' ? E : never;
}[keyof typeof EVENTS];

export type ClientEvents = { readonly [E in FeedEvent]: EventFrame } & {
  readonly state: ClientState;
  /** It will not connect again: the reason is one that trying again does not change. */
  readonly end: ConnectionEnd;
};

export interface SubscribeOptions extends ConversationHandlers {
  /** The number of the last message that is there already; default: whatever comes from now on. */
  readonly afterSequence?: number;
  /** Begins so many numbers before the newest, where `afterSequence` is absent. */
  readonly backlog?: number;
}

export interface Subscription {
  readonly conversationId: string;
  /** Every message up to this number that the caller may see has been handed over. */
  readonly completeThrough: number;
  unsubscribe(): void;
}

/** A request over the socket that was refused, or (`error` null) whose connection ended first. */
export class RequestFailed extends Error {
  readonly error: ErrorObject | null;

  constructor(error: ErrorObject | null) {
    super(error?.message ?? 'the connection ended before the answer');
    this.name = 'RequestFailed';
    this.error = error;
  }
}

/** One caller's live view of its conversations, over as many connections as it takes. */
export class Client {
  readonly #link: Link;
  readonly #rest: Rest;
  readonly #timing: LinkOptions['timing'];
  readonly #feeds = new Map<string, Feed>();
  /** Those that the current connection has not caught up with. */
  readonly #unsettled = new Set<Feed>();
  /** Conversations that a connection was asked to leave, until it has answered. */
  readonly #left = new WeakMap<Connection, Set<string>>();
  readonly #own = new Seen();
  readonly #listeners = new Map<string, Set<(value: never) => void>>();
  /** Everything that changed before it has been handed over. */
  #cursor: string | undefined;
  #resuming = false;
  #state: ClientState = 'connecting';

  constructor(options: LinkOptions & RestOptions) {
    this.#timing = options.timing;
    this.#rest = new Rest(options);
    this.#link = new Link(options, {
      attached: (connection, cursor) => this.#attach(connection, cursor),
      received: (connection, frame) => this.#received(connection, frame),
      cursorRefused: () => {
        this.#cursor = undefined;
        for (const feed of this.#feeds.values()) feed.handlers.onStale?.();
      },
      changed: () => this.#changed(),
      finished: (end) => this.#emit('end', end),
    });
    this.#link.open();
  }

  get state(): ClientState {
    return this.#state;
  }

  /** Returns what takes the listener away again. */
  on<E extends keyof ClientEvents>(event: E, listener: (value: ClientEvents[E]) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Throws where there is a subscription to this conversation already. */
  subscribe(
    conversationId: string,
    { afterSequence, backlog = 0, ...handlers }: SubscribeOptions,
  ): Subscription {
    if (this.#feeds.has(conversationId)) throw new Error(`there is a subscription to ${conversationId}`);
    const feed = new Feed(conversationId, afterSequence, handlers, {
      reload: (messageId) => this.#reload(feed, messageId),
    });
    feed.backlog = backlog;
    this.#feeds.set(conversationId, feed);
    this.#unsettled.add(feed);
    const { current } = this.#link;
    if (current !== undefined) this.#join(feed, current);
    this.#changed();
    return {
      conversationId,
      get completeThrough() {
        return feed.completeThrough;
      },
      unsubscribe: () => {
        if (this.#drop(feed)) this.#leave(conversationId);
      },
    };
  }

  /** Any op of the protocol, such as typing. Rejects with RequestFailed. */
  request<O extends Op>(op: O, fields: object): Promise<CommandResult<O>> {
    const { current } = this.#link;
    return new Promise((resolve, reject) => {
      const answered = (answer: Answer) => {
        if (answer.ok) resolve(answer.result as unknown as CommandResult<O>);
        else reject(new RequestFailed(answer.error));
      };
      if (current === undefined) answered({ ok: false, error: null });
      else current.ask(op, fields, answered);
    });
  }

  /** Over REST, tried again until it is answered, once in effect. Rejects as Rest.send does. */
  send(conversationId: string, body: string | SendMessageBody): Promise<ChatMessage> {
    return this.#rest.send(conversationId, typeof body === 'string' ? { body } : body);
  }

  /** For good. */
  close(): void {
    this.#link.close();
  }

  /** Asks the new connection for all that was missed, in one request where it knows how. */
  #attach(connection: Connection, cursor: string): void {
    const known = [...this.#feeds.values()].filter(({ position }) => position !== undefined);
    for (const feed of this.#feeds.values()) {
      this.#unsettled.add(feed);
      if (feed.position === undefined || this.#cursor === undefined) this.#join(feed, connection);
    }
    this.#resuming = this.#cursor !== undefined;
    if (this.#cursor !== undefined) this.#resume(connection, this.#cursor, known, cursor);
    this.#cursor ??= cursor;
    this.#check();
  }

  #resume(connection: Connection, cursor: string, feeds: readonly Feed[], current: string): void {
    const conversations = Object.fromEntries(feeds.map(({ id, position }) => [id, position]));
    connection.ask('resume', { cursor, conversations }, (answer) => {
      if (answer.ok || answer.error === null || connection !== this.#link.current) return;
      if (answer.error.is_transient) {
        this.#link.reopen();
        return;
      }
      // Not known there, or too much for it: one by one, without the changes of older messages.
      this.#resuming = false;
      this.#cursor = current;
      for (const feed of feeds) {
        if (!this.#isOn(feed, connection)) continue;
        feed.handlers.onStale?.();
        this.#join(feed, connection);
      }
      this.#check();
    });
  }

  #join(feed: Feed, connection: Connection): void {
    const { id, position } = feed;
    const after = position === undefined ? {} : { after_sequence: position };
    connection.ask('subscribe', { conversation_id: id, ...after }, (answer) => {
      if (!this.#isOn(feed, connection)) return;
      if (!answer.ok) this.#refused(feed, connection, answer.error);
      else if (feed.position === undefined) this.#begin(feed, connection, answer.result as Subscribed);
    });
  }

  /** A backlog is a subscription of its own: this one brings what is new. */
  #begin(feed: Feed, connection: Connection, { head_sequence: head }: Subscribed): void {
    if (feed.backlog === 0) {
      feed.begin(head);
      return;
    }
    connection.ask('unsubscribe', { conversation_id: feed.id }, () => {
      if (!this.#isOn(feed, connection)) return;
      feed.begin(Math.max(0, head - feed.backlog));
      this.#join(feed, connection);
    });
  }

  /** What was on its way is nobody's: a subscription that follows begins behind the answer. */
  #leave(conversationId: string): void {
    const { current } = this.#link;
    if (current === undefined) return;
    const left = this.#left.get(current) ?? new Set();
    this.#left.set(current, left.add(conversationId));
    current.ask('unsubscribe', { conversation_id: conversationId }, () => left.delete(conversationId));
  }

  #refused(feed: Feed, connection: Connection, error: ErrorObject | null): void {
    if (error === null) return;
    if (!error.is_transient) this.#end(feed, error);
    else this.#joinLater(feed, connection);
  }

  #joinLater(feed: Feed, connection: Connection): void {
    this.#timing.after(JOIN_AGAIN_MS * (1 + this.#timing.random()), () => {
      if (this.#isOn(feed, connection)) this.#join(feed, connection);
    });
  }

  #received(connection: Connection, frame: Incoming): void {
    if (frame.type === 'event') {
      if (!this.#left.get(connection)?.has(frame.conversation_id ?? '')) this.#receiveEvent(frame);
    } else if (connection === this.#link.current) this.#receiveFrame(connection, frame);
  }

  #receiveEvent(frame: EventFrame): void {
    const { conversation_id: id, event } = frame;
    if (EVENTS[event]?.stream !== 'actor') this.#feeds.get(id ?? '')?.receive(frame);
    else if (isNewsOf(this.#own, frame)) this.#emit(event as FeedEvent, frame);
  }

  #receiveFrame(connection: Connection, frame: ServerFrame): void {
    switch (frame.type) {
      case 'caught_up': {
        const feed = this.#feeds.get(frame.conversation_id);
        if (feed?.position === undefined) return;
        feed.complete(Math.max(frame.sequence, feed.promised));
        this.#unsettled.delete(feed);
        this.#check();
        return;
      }
      case 'resync':
        this.#resync(connection, frame);
        return;
      case 'resumed':
        this.#resuming = false;
        this.#cursor = frame.cursor;
        this.#check();
        return;
      case 'ping':
        // Only where nothing is under way that a resume from there would leave out.
        if (this.#isSettled) this.#cursor = frame.cursor;
        for (const [id, head] of Object.entries(frame.heads)) this.#verify(connection, id, head);
    }
  }

  /** A head that should be there by now and is not: a number that nobody got, or a message that was lost. */
  #verify(connection: Connection, id: string, head: number): void {
    const feed = this.#feeds.get(id);
    if (feed === undefined || this.#unsettled.has(feed) || head <= feed.completeThrough) return;
    feed.promised = head;
    this.#unsettled.add(feed);
    connection.ask('unsubscribe', { conversation_id: id }, () => {
      if (this.#isOn(feed, connection)) this.#join(feed, connection);
    });
    this.#changed();
  }

  #resync(connection: Connection, frame: Extract<ServerFrame, { type: 'resync' }>): void {
    const feed = this.#feeds.get(frame.conversation_id);
    if (feed === undefined) return;
    if (frame.reason === 'revoked') {
      this.#end(feed, 'revoked');
      return;
    }
    this.#unsettled.add(feed);
    this.#changed();
    if (this.#resuming || frame.reason === 'too_old') feed.handlers.onStale?.();
    if (frame.reason === 'too_old') this.#join(feed, connection);
    else this.#page(feed, connection).catch((error: unknown) => this.#pagingFailed(feed, connection, error));
  }

  async #page(feed: Feed, connection: Connection): Promise<void> {
    for (let more = true; more; ) {
      const page = await this.#rest.after(feed.id, feed.position ?? 0);
      if (!this.#isOn(feed, connection)) return;
      for (const message of page.messages) feed.receiveMessage(message);
      more = page.more;
    }
    this.#join(feed, connection);
  }

  #pagingFailed(feed: Feed, connection: Connection, error: unknown): void {
    if (!this.#isOn(feed, connection)) return;
    if (error instanceof RestRefused && error.error?.is_transient === false) this.#end(feed, error.error);
    else this.#joinLater(feed, connection);
  }

  #reload(feed: Feed, messageId: string): void {
    this.#rest.message(messageId).then(
      (message) => {
        if (this.#feeds.get(feed.id) === feed) feed.handlers.onUpdate?.(message);
      },
      // Gone, or nobody answers: its next change brings it.
      () => {},
    );
  }

  /** Whether what is asked of this connection for the feed still matters. */
  #isOn(feed: Feed, connection: Connection): boolean {
    return connection === this.#link.current && this.#feeds.get(feed.id) === feed;
  }

  #end(feed: Feed, why: ErrorObject | 'revoked'): void {
    if (this.#drop(feed)) feed.handlers.onEnd?.(why);
  }

  #drop(feed: Feed): boolean {
    if (this.#feeds.get(feed.id) !== feed) return false;
    this.#feeds.delete(feed.id);
    this.#unsettled.delete(feed);
    this.#check();
    return true;
  }

  get #isSettled(): boolean {
    return this.#link.phase === 'open' && !this.#resuming && this.#unsettled.size === 0;
  }

  #check(): void {
    if (this.#isSettled) this.#link.settled();
    this.#changed();
  }

  #changed(): void {
    const state = this.#currentState();
    if (state === this.#state) return;
    this.#state = state;
    this.#emit('state', state);
  }

  #currentState(): ClientState {
    const { phase, overlapping } = this.#link;
    if (this.#isSettled) return 'live';
    // The connection before still brings everything.
    if (overlapping && this.#state === 'live') return 'live';
    if (phase === 'open') return 'catching_up';
    return phase === 'opening' ? 'connecting' : 'offline';
  }

  #emit<E extends keyof ClientEvents>(event: E, value: ClientEvents[E]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      (listener as (value: ClientEvents[E]) => void)(value);
    }
  }
}

/** A conversation with what only the client knows of it. */
class Feed extends ConversationFeed {
  backlog = 0;
  /** A head that a heartbeat named. */
  promised = 0;
}

interface Subscribed {
  readonly head_sequence: number;
}

const JOIN_AGAIN_MS = 1_000;
