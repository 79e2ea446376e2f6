import type { EventFrame } from '../protocol/socket/events.ts';
import { ConversationFeed, type ConversationHandlers, type FeedHost } from './conversation-feed.ts';
import { isolate } from './listeners.ts';
import type { Page } from './rest.ts';

export interface FollowerOptions {
  /** The number after which messages are wanted; undefined until that is known. */
  readonly position: number | undefined;
  /** Begins so many numbers before the newest, where `position` is undefined. */
  readonly backlog: number;
  readonly handlers: ConversationHandlers;
  readonly host: FeedHost;
}

/**
 * One subscription: its own place in a stream that it may share with others. Where the stream is further
 * than it is, the messages in between are fetched over REST, and new ones wait for them.
 */
export class FollowedConversation extends ConversationFeed {
  readonly backlog: number;
  /** Messages that came since the page under way was asked for; undefined where none are missing. */
  #held: EventFrame[] | undefined;
  /** The page under way does not reach to what is held. */
  #outrun = false;

  constructor(id: string, { position, backlog, handlers, host }: FollowerOptions) {
    super(id, position, isolated(handlers), host);
    this.backlog = backlog;
  }

  get isBehind(): boolean {
    return this.#held !== undefined;
  }

  override receive(frame: EventFrame): void {
    if (this.#held === undefined || frame.event !== 'message.created') super.receive(frame);
    else if (this.#held.length < MAX_HELD) this.#held.push(frame);
    else this.outrun();
  }

  override complete(through: number): void {
    if (this.position !== undefined && !this.isBehind) super.complete(through);
  }

  /** The stream has left messages out, or they were too many to hold: only another page has them. */
  outrun(): void {
    this.#held = [];
    this.#outrun = true;
  }

  /**
   * Fetches what is missing. Every page is asked for behind all that came by then, so it has what is not
   * held. Rejects as `pageAfter` does, and is behind then as before.
   */
  async catchUp(pageAfter: (sequence: number) => Promise<Page>, isOver: () => boolean): Promise<void> {
    let isMore = true;
    while (isMore) {
      this.#held = [];
      this.#outrun = false;
      const { messages, more } = await pageAfter(this.position ?? 0);
      if (isOver()) return;
      for (const message of messages) this.receiveMessage(message);
      isMore = more || this.#outrun;
    }
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const frame of held) this.receive(frame);
  }
}

/** What one of them throws is the program's error: it surfaces as one, and neither the stream nor others miss anything. */
function isolated(handlers: ConversationHandlers): ConversationHandlers {
  const entries = Object.entries(handlers as object).filter(([, handler]) => typeof handler === 'function');
  const guarded = entries.map(([name, handler]: [string, (value: unknown) => void]) => {
    const call = (value: unknown) => isolate(() => handler.call(handlers, value));
    return [name, call] as const;
  });
  return Object.fromEntries(guarded) as unknown as ConversationHandlers;
}

const MAX_HELD = 1_000;
