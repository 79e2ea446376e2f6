import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { CommandFields, CommandResult } from '@parley/protocol/socket/commands.ts';
import type { EventFrame, EventName } from '@parley/protocol/socket/events.ts';
import { Api } from './api.ts';
import {
  type ClientEvents,
  type ClientState,
  type ConversationSubscription,
  Listeners,
  type SubscribeOptions,
} from './events/client-events.ts';
import { Inbox } from './inbox/inbox.ts';
import type { InboxQuery } from './inbox/inbox-snapshot.ts';
import type { RequestOp } from './link/requests.ts';
import { ConnectionStatus } from './live/connection-status.ts';
import type { FollowHost } from './live/follow-host.ts';
import type { NotificationQuery } from './notifications/feed-snapshot.ts';
import { Notifications } from './notifications/notifications.ts';
import { KnownPeople } from './people/known-people.ts';
import { Presence } from './people/presence.ts';
import type { PresenceTracker } from './people/presence-tracker.ts';
import { Run } from './runs/run.ts';
import type { Timing } from './timing/timing.ts';

/**
 * The part of a client that makes live objects and passes on what arrives: each event and each
 * answer passes here once.
 */
export abstract class LiveApi extends Api {
  /** The state of the connection, for showing it. */
  readonly connection: ConnectionStatus = new ConnectionStatus();
  /** The names and pictures behind the ids of actors. */
  readonly actors: KnownPeople;
  /** Aborts when the client is closed. */
  protected readonly closing: AbortController = new AbortController();
  readonly #listeners = new Listeners<ClientEvents & FollowerEvents>();
  protected readonly host: FollowHost;
  /** Shared by all objects of presence. */
  #presences: PresenceTracker | undefined;

  constructor(timing: Timing) {
    super();
    this.actors = new KnownPeople({ fetch: this.ask, timing });
    this.host = {
      fetch: this.ask,
      timing,
      closing: this.closing.signal,
      actors: this.actors,
      actor: () => this.actor,
      state: () => this.state,
      transport: () => this.connection.snapshot.transport,
      onState: (listener) => this.on('state', listener),
      onStale: (listener) => this.on('stale', listener),
      onFrame: (listener) => this.#listeners.add('frame', listener),
      onTouched: (listener) => this.#listeners.add('touched', listener),
      onReading: (listener) => this.#listeners.add('reading', listener),
      subscribe: (id, options) => this.subscribe(id, options),
    };
  }

  /** Whether it is connected, and whether everything has arrived. */
  abstract get state(): ClientState;

  /** Calls the listener at each event. Returns the function that removes it. */
  on<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): () => void {
    return this.#listeners.add(event, listener as never);
  }

  abstract subscribe(conversationId: string, options: SubscribeOptions): ConversationSubscription;

  abstract request<O extends RequestOp>(op: O, fields: CommandFields<O>): Promise<CommandResult<O>>;

  /** Returns a list of conversations that stays right until it is closed. */
  inbox(query: InboxQuery = {}): Inbox {
    return new Inbox(this.host, query);
  }

  /** Returns the caller's notifications, which stay up to date until they are closed. */
  notifications(query: NotificationQuery = {}): Notifications {
    return new Notifications(this.host, query);
  }

  /** Returns the run of an agent, which stays up to date until it is closed. */
  run(id: string): Run {
    return new Run(this.host, id);
  }

  /** Returns whether these users are online, which stays up to date until it is closed. */
  presence(actorIds: readonly string[]): Presence {
    return new Presence(this.host, actorIds, async () => {
      const { PresenceTracker } = await import('./people/presence-tracker.ts');
      this.#presences ??= new PresenceTracker(this.host);
      return this.#presences;
    });
  }

  /**
   * Declares the caller's own presence, now and on each new connection, in place of the option
   * `presence`. Rejects as `request`.
   */
  async setPresence(status: DeclaredStatus): Promise<void> {
    await this.request('presence', { status });
  }

  protected emit<E extends keyof ClientEvents>(event: E, ...args: ClientEvents[E]): void {
    this.#listeners.emit(event, ...(args as never));
  }

  /** Passes an event to the live objects. */
  protected passed(frame: EventFrame): void {
    if (!PIECES.has(frame.event)) this.actors.learnFrom(frame.data);
    this.#listeners.emit('frame', frame);
  }

  /** Learns from an answer of the server. */
  protected answered(answer: object): void {
    this.actors.learnFrom(answer);
    if (this.state === 'live') this.connection.succeeded();
  }

  protected override touched(conversationId: string, isRead = false): void {
    this.#listeners.emit('touched', conversationId, isRead);
  }

  protected emitReading(conversationId: string, through: number): void {
    this.#listeners.emit('reading', conversationId, through);
  }
}

type FollowerEvents = {
  readonly frame: readonly [frame: EventFrame];
  readonly touched: readonly [conversationId: string, isRead: boolean];
  readonly reading: readonly [conversationId: string, through: number];
};

/** Frequent events without an actor. */
const PIECES: ReadonlySet<EventName> = new Set(['message.delta', 'message.reset', 'message.snapshot']);
