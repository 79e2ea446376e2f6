import type { ErrorObject } from '../protocol/errors.ts';
import type { EventFrame } from '../protocol/socket/events.ts';
import type { Message } from './conversation-feed.ts';
import type { FollowedConversation } from './followed-conversation.ts';
import { type Page, RestRefused } from './rest.ts';

/** What a feed asks of its client. */
export interface SharedFeedHost {
  pageAfter(sequence: number): Promise<Page>;
  /** Whether anybody wants to hear of it still. */
  isOpen(follower: FollowedConversation): boolean;
  fellBehind(follower: FollowedConversation): void;
  caughtUp(follower: FollowedConversation): void;
  /** What it is behind by may not be read. */
  refused(follower: FollowedConversation, error: ErrorObject): void;
  later(work: () => void): void;
}

/**
 * The stream of one conversation, which all subscriptions to it share: a connection is asked for it once.
 * Invariants: every message up to `position` was handed to every follower that wants it and is not behind;
 * connections are asked for what comes after it.
 */
export class SharedFeed {
  readonly id: string;
  readonly followers = new Set<FollowedConversation>();
  /** A connection was asked for it. */
  isAsked = false;
  /** A head that a heartbeat named. */
  promised = 0;
  readonly #host: SharedFeedHost;
  #position: number | undefined;
  #through = 0;

  constructor(id: string, host: SharedFeedHost) {
    this.id = id;
    this.#host = host;
  }

  /** The last number that came; before, the one after which it is asked for; undefined: from now on. */
  get position(): number | undefined {
    return this.#position;
  }

  /** Nothing up to this number is still to come. */
  get through(): number {
    return this.#through;
  }

  /** Calls none of its handlers before it returns. */
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
      this.#position = Math.max(sequence, this.#position ?? 0);
      this.#through = Math.max(sequence, this.#through);
    }
    for (const follower of this.followers) follower.receive(frame);
  }

  /** Where it begins, for those who count from the head; once that is known it changes nothing. */
  begin(head: number): void {
    this.#position ??= head;
    this.#through = Math.max(this.#through, this.#position);
    for (const follower of this.followers) {
      follower.begin(Math.max(0, head - follower.backlog));
      if (!follower.isBehind && this.#isAheadOf(follower)) this.#fetch(follower);
    }
  }

  /** Everything up to this number, or to what a heartbeat named, has come. */
  caughtUp(sequence: number): void {
    this.#through = Math.max(sequence, this.promised, this.#through);
    this.begin(this.#through);
    for (const follower of this.followers) follower.complete(this.#through);
  }

  /** The stream leaves out what is up to this number: it is fetched. */
  skipTo(head: number): void {
    this.#position = Math.max(head, this.#position ?? 0);
    for (const follower of this.followers) {
      if (follower.isBehind) follower.outrun();
      else if (this.#isAheadOf(follower)) this.#fetch(follower);
    }
  }

  goStale(): void {
    for (const { handlers } of this.followers) handlers.onStale?.();
  }

  /** So that nobody misses anything who came before it was asked for. */
  #startAfter(sequence: number | undefined): void {
    if (sequence === undefined) return;
    this.#position = Math.min(sequence, this.#position ?? sequence);
    this.#through = this.#position;
  }

  #isAheadOf({ position }: FollowedConversation): boolean {
    return position !== undefined && this.#position !== undefined && position < this.#position;
  }

  /** It has what there is: it also gets the beginning of what is being written just now. */
  #line(follower: FollowedConversation): void {
    const other = [...this.followers].find((one) => one !== follower && !one.isBehind);
    for (const snapshot of other?.snapshots() ?? []) follower.write(snapshot);
    follower.complete(this.#through);
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

  #fetchFailed(follower: FollowedConversation, error: unknown): void {
    const { isOpen, refused, later } = this.#host;
    if (!isOpen(follower)) return;
    if (error instanceof RestRefused && error.error?.is_transient === false) refused(follower, error.error);
    else
      later(() => {
        if (isOpen(follower)) this.#fetch(follower);
      });
  }
}
