import type { PresentActor } from '../../engine/frame.ts';
import type { DeclaredStatus, PresenceStatus } from '../../protocol/socket/activity.ts';

/** What a socket said of its actor. */
export interface Declared {
  readonly actorId: string;
  status: DeclaredStatus;
}

/**
 * Who is there in one conversation: the sum of what sockets here said and what other nodes say of
 * theirs. Times are milliseconds of one clock that never goes back.
 */
export class ConversationPresence {
  readonly #sockets = new Map<object, Declared>();
  /** Actors whose last socket here ended, until they count as gone. */
  readonly #left = new Map<string, { readonly status: DeclaredStatus; readonly untilMs: number }>();
  /** The last word of other nodes, until it is too old to be believed. */
  readonly #nodes = new Map<
    string,
    { readonly present: readonly PresentActor[]; readonly untilMs: number }
  >();
  /** What readers here were told; `offline` stays, for those that it was withheld from. */
  readonly #published = new Map<string, PresenceStatus>();

  get empty(): boolean {
    return (
      this.#sockets.size === 0 &&
      this.#left.size === 0 &&
      this.#nodes.size === 0 &&
      this.#published.size === 0
    );
  }

  enter(socket: object, declared: Declared): void {
    this.#sockets.set(socket, declared);
    this.#left.delete(declared.actorId);
  }

  /** The actor counts as there until `untilMs`, unless another socket of its is. False where it was not there. */
  leave(socket: object, untilMs: number): boolean {
    const declared = this.#sockets.get(socket);
    if (declared === undefined) return false;
    this.#sockets.delete(socket);
    const { actorId, status } = declared;
    for (const other of this.#sockets.values()) if (other.actorId === actorId) return true;
    this.#left.set(actorId, { status, untilMs });
    return true;
  }

  /** What a node says replaces what it said before. */
  update(nodeId: string, present: readonly PresentActor[], untilMs: number): void {
    if (present.length === 0) this.#nodes.delete(nodeId);
    else this.#nodes.set(nodeId, { present, untilMs });
  }

  /** Nobody reads the conversation here any more: what others say does not arrive, and nobody was told. */
  forgetOthers(): void {
    this.#nodes.clear();
    this.forgetTold();
  }

  forgetTold(): void {
    this.#published.clear();
  }

  /** Whether anything has ended by `nowMs`. */
  expire(nowMs: number): boolean {
    let ended = false;
    for (const timed of [this.#left, this.#nodes]) {
      for (const [id, { untilMs }] of timed) {
        if (untilMs > nowMs) continue;
        timed.delete(id);
        ended = true;
      }
    }
    return ended;
  }

  /** What this node says of its own sockets. */
  own(): PresentActor[] {
    const best = new Map<string, PresentActor>();
    for (const { actorId, status } of this.#sockets.values()) take(best, [actorId, status, true]);
    for (const [actorId, { status }] of this.#left) take(best, [actorId, status, false]);
    return [...best.values()];
  }

  /** What readers here have not been told yet; they count as told from here on. */
  news(): [actorId: string, status: PresenceStatus][] {
    const best = new Map(this.own().map((present) => [present[0], present]));
    for (const { present } of this.#nodes.values()) for (const one of present) take(best, one);
    const news: [string, PresenceStatus][] = [];
    for (const [actorId, [, status]] of best) {
      if (this.#published.get(actorId) !== status) news.push([actorId, status]);
    }
    for (const [actorId, status] of this.#published) {
      if (status !== 'offline' && !best.has(actorId)) news.push([actorId, 'offline']);
    }
    for (const [actorId, status] of news) this.#published.set(actorId, status);
    return news;
  }

  /** What readers here know by now. */
  published(): Iterable<[actorId: string, status: PresenceStatus]> {
    return this.#published;
  }
}

/** An open socket says more than one that has ended, whatever it said; among those, online more than away. */
function take(best: Map<string, PresentActor>, one: PresentActor): void {
  const known = best.get(one[0]);
  if (known === undefined || rank(one) > rank(known)) best.set(one[0], one);
}

function rank([, status, here]: PresentActor): number {
  return (here ? 2 : 0) + (status === 'online' ? 1 : 0);
}
