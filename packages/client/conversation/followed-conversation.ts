import type { EventFrame } from '@parley/protocol/socket/events.ts';
import { isolate } from '../events/client-events.ts';
import { ConversationFeed, type ConversationHandlers } from '../events/conversation-feed.ts';
import type { Page } from '../rest/rest.ts';

/**
 * One subscription, with its own position in a stream that others may share. If the stream is
 * ahead, the messages in between are fetched over REST, and new ones wait for them.
 */
export class FollowedConversation extends ConversationFeed {
  /** Begins this many numbers before the newest, if the position is not known. */
  readonly backlog: number;
  /** Messages since the request for the current page; undefined if none are missing. */
  #held: EventFrame[] | undefined;
  /** Whether the current page ends before the held messages. */
  #outrun = false;

  constructor(
    id: string,
    { position, backlog }: Pick<FollowedConversation, 'position' | 'backlog'>,
    handlers: ConversationHandlers,
    reload: (messageId: string) => void,
  ) {
    super(id, position, isolated(handlers), reload);
    this.backlog = backlog;
  }

  get isBehind(): boolean {
    return this.#held !== undefined;
  }

  override receive(frame: EventFrame): void {
    if (this.#held === undefined || !waitsBehind(this.#held, frame)) super.receive(frame);
    else if (this.#held.length < MAX_HELD) this.#held.push(frame);
    else this.outrun();
  }

  override complete(through: number): void {
    if (this.position !== undefined && !this.isBehind) super.complete(through);
  }

  /** Notes that the stream left messages out or that too many are held: another page is needed. */
  outrun(): void {
    this.#held = [];
    this.#outrun = true;
  }

  /**
   * Fetches missing messages. Each page is requested after the earlier arrivals, so it has every
   * message that is not held. Rejects as `pageAfter` does; the subscription then stays behind.
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

/** Returns whether an event waits: a new message for the page, a piece of text for its message. */
function waitsBehind(held: readonly EventFrame[], { event, data }: EventFrame): boolean {
  if (event === 'message.created') return true;
  if (!('message_id' in data)) return false;
  return held.some((frame) => 'id' in frame.data && frame.data.id === data.message_id);
}

/** Wraps handlers so that their errors are uncaught and stop nothing else. */
function isolated(handlers: ConversationHandlers): ConversationHandlers {
  const entries = Object.entries(handlers as object).filter(([, handler]) => typeof handler === 'function');
  const guarded = entries.map(([name, handler]: [string, (value: unknown) => void]) => {
    const call = (value: unknown) => isolate(() => handler.call(handlers, value));
    return [name, call] as const;
  });
  return Object.fromEntries(guarded) as unknown as ConversationHandlers;
}

const MAX_HELD = 1_000;
