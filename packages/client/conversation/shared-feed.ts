import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { EventFrame } from '@parley/protocol/socket/events.ts';
import { lost } from '../errors/parley-error.ts';
import type { Message } from '../events/conversation-feed.ts';
import type { Page } from '../rest/rest.ts';
import type { FollowedConversation } from './followed-conversation.ts';

/** The requests of a feed to its client. */
export interface SharedFeedHost {
  pageAfter(sequence: number): Promise<Page>;
  /** Whether the subscription is still open. */
  isOpen(follower: FollowedConversation): boolean;
  fellBehind(follower: FollowedConversation): void;
  caughtUp(follower: FollowedConversation): void;
  /** Called if the caller may not read the messages that the subscription lacks. */
  refused(follower: FollowedConversation, error: ErrorObject): void;
  later(work: () => void): void;
}

/**
 * The stream of one conversation, requested once per connection for all subscriptions. Invariants:
 * every message up to `position` was passed to every follower that wants it and is not behind;
 * connections are asked for the messages after it.
 */
export class SharedFeed {
  readonly id: string;
  readonly followers = new Set<FollowedConversation>();
  /** Whether a connection was asked for the feed. */
  isAsked = false;
  /** The head that a heartbeat named. */
  promised = 0;
  readonly #host: SharedFeedHost;
  /** The last number that arrived, else the number to start after; undefined: from now on. */
  position: number | undefined;
  /** Every message up to this number has arrived. */
  through = 0;

  constructor(id: string, host: SharedFeedHost) {
    this.id = id;
    this.#host = host;
  }

  /** Calls no handler before it returns. */
  add(follower: FollowedConversation): void {
    this.followers.add(follower);
    if (!this.isAsked) this.#startAfter(follower.position);
    else if (this.#isAheadOf(follower)) this.#fetch(follower);
    else {
      queueMicrotask(() => {
        if (this.#host.isOpen(follower)) this.#line(follower);
      });
    }
  }

  receive(frame: EventFrame): void {
    if (frame.event === 'message.created') {
      const sequence = (frame.data as Message).sequence ?? 0;
      this.position = Math.max(sequence, this.position ?? 0);
      this.through = Math.max(sequence, this.through);
    }
    for (const follower of this.followers) follower.receive(frame);
  }

  /** Sets the start for followers that count from the head. Does nothing if it is known already. */
  begin(head: number): void {
    this.position ??= head;
    this.through = Math.max(this.through, this.position);
    for (const follower of this.followers) {
      follower.begin(Math.max(0, head - follower.backlog));
      if (!follower.isBehind && this.#isAheadOf(follower)) this.#fetch(follower);
    }
  }

  /** Notes that everything up to this number, or a heartbeat's head, has arrived. */
  caughtUp(sequence: number): void {
    this.through = Math.max(sequence, this.promised, this.through);
    this.begin(this.through);
    for (const follower of this.followers) follower.complete(this.through);
  }

  /** Fetches messages up to this number, which the stream leaves out. */
  skipTo(head: number): void {
    this.position = Math.max(head, this.position ?? 0);
    for (const follower of this.followers) {
      if (follower.isBehind) follower.outrun();
      else if (this.#isAheadOf(follower)) this.#fetch(follower);
    }
  }

  goStale(): void {
    for (const { handlers } of this.followers) handlers.onStale?.();
  }

  /** Moves the start back for followers added before the request. */
  #startAfter(sequence: number | undefined): void {
    if (sequence === undefined) return;
    this.position = Math.min(sequence, this.position ?? sequence);
    this.through = this.position;
  }

  #isAheadOf({ position }: FollowedConversation): boolean {
    return position !== undefined && this.position !== undefined && position < this.position;
  }

  /** Adds a complete follower: it also gets the beginning of texts that are being streamed. */
  #line(follower: FollowedConversation): void {
    const other = [...this.followers].find((one) => one !== follower && !one.isBehind);
    for (const snapshot of other?.snapshots() ?? []) follower.write(snapshot);
    follower.complete(this.through);
  }

  #fetch(follower: FollowedConversation): void {
    const { pageAfter, isOpen, fellBehind, caughtUp } = this.#host;
    fellBehind(follower);
    follower
      .catchUp(pageAfter, () => !isOpen(follower))
      .then(() => {
        if (!isOpen(follower)) return;
        this.#line(follower);
        caughtUp(follower);
      })
      .catch((error: unknown) => this.#fetchFailed(follower, error));
  }

  #fetchFailed(follower: FollowedConversation, cause: unknown): void {
    const { isOpen, refused, later } = this.#host;
    const { error, isTransient } = lost(cause);
    if (!isOpen(follower)) return;
    if (error !== null && !isTransient) refused(follower, error);
    else
      later(() => {
        if (isOpen(follower)) this.#fetch(follower);
      });
  }
}
