import type { DeclaredStatus, PresenceStatus } from '@parley/protocol/resources/activity.ts';
import type { PresentActor } from '../../../core/frames/frame.ts';

/** The status that a socket declared for its actor. */
export interface Declared {
  readonly actorId: string;
  /** The own id of the actor; undefined if it has none. */
  readonly externalId: string | undefined;
  status: DeclaredStatus;
  /** Whether the other readers of a conversation may know of the actor. */
  readonly isShownIn: (conversationId: string) => boolean;
}

/** Presence in one conversation: of sockets here, and by reports. Times never go back. */
export class ConversationPresence {
  readonly #sockets = new Map<object, Declared>();
  /** Actors whose last socket here closed, until they count as gone. */
  readonly #left = new Map<string, { readonly status: DeclaredStatus; readonly untilMs: number }>();
  /** The last report of each other node, until it expires. */
  readonly #nodes = new Map<
    string,
    { readonly present: readonly PresentActor[]; readonly untilMs: number }
  >();
  /** Statuses sent to readers here. `offline` stays, for readers whose events were withheld. */
  readonly #published = new Map<string, PresenceStatus>();
  /** The own ids of actors, kept as long as what was sent of them. */
  readonly #externalIds = new Map<string, string>();

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
    this.#learn(declared.actorId, declared.externalId);
  }

  /**
   * Counts the actor as present until `untilMs`, unless it has another socket. Returns false if it
   * was not present.
   */
  leave(socket: object, untilMs: number): boolean {
    const declared = this.#sockets.get(socket);
    if (declared === undefined) return false;
    this.#sockets.delete(socket);
    const { actorId, status } = declared;
    for (const other of this.#sockets.values()) if (other.actorId === actorId) return true;
    this.#left.set(actorId, { status, untilMs });
    return true;
  }

  has(socket: object): boolean {
    return this.#sockets.has(socket);
  }

  /** Forgets a socket whose actor the other readers may no longer know of. */
  hide(socket: object): void {
    const { actorId } = this.#sockets.get(socket) ?? {};
    this.#sockets.delete(socket);
    if (actorId !== undefined) this.#left.delete(actorId);
  }

  update(nodeId: string, present: readonly PresentActor[], untilMs: number): void {
    if (present.length === 0) this.#nodes.delete(nodeId);
    else this.#nodes.set(nodeId, { present, untilMs });
    for (const [actorId, , , externalId] of present) this.#learn(actorId, externalId);
  }

  /** Returns the own id of an actor that is or was present; null if it has none. */
  externalIdOf(actorId: string): string | null {
    return this.#externalIds.get(actorId) ?? null;
  }

  /**
   * Must be called when the last reader of the conversation here has left: no reports of other
   * nodes arrive from then on, and no reader was sent a status.
   */
  forgetOthers(): void {
    this.#nodes.clear();
    this.forgetPublished();
  }

  forgetPublished(): void {
    this.#published.clear();
    const present = new Set(this.own().map(([actorId]) => actorId));
    for (const id of this.#externalIds.keys()) if (!present.has(id)) this.#externalIds.delete(id);
  }

  /** Returns whether anything expired by `nowMs`. */
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

  /** Returns this node's own report. */
  own(): PresentActor[] {
    const best = new Map<string, PresentActor>();
    for (const { actorId, status } of this.#sockets.values())
      take(best, this.#asPresent(actorId, status, true));
    for (const [actorId, { status }] of this.#left) take(best, this.#asPresent(actorId, status, false));
    return [...best.values()];
  }

  #asPresent(actorId: string, status: DeclaredStatus, here: boolean): PresentActor {
    const externalId = this.#externalIds.get(actorId);
    return externalId === undefined ? [actorId, status, here] : [actorId, status, here, externalId];
  }

  #learn(actorId: string, externalId: string | undefined): void {
    if (externalId !== undefined) this.#externalIds.set(actorId, externalId);
  }

  /** Returns the statuses that readers here lack, and counts them as sent. */
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

  /** Returns the statuses sent to readers here. */
  published(): Iterable<[actorId: string, status: PresenceStatus]> {
    return this.#published;
  }
}

/** Keeps the better entry: an open socket before a closed one, then online before away. */
function take(best: Map<string, PresentActor>, one: PresentActor): void {
  const known = best.get(one[0]);
  if (known === undefined || rank(one) > rank(known)) best.set(one[0], one);
}

function rank([, status, here]: PresentActor): number {
  return (here ? 2 : 0) + (status === 'online' ? 1 : 0);
}
