import type { Cursors } from '../changes/cursors.ts';
import type { ReaderAudience } from '../stream/reader.ts';
import type { Streams } from '../stream/streams.ts';
import type { SocketSubscription } from './session-state.ts';

interface Progress {
  readonly conversationIds: Iterable<string>;
  subscription(conversationId: string): SocketSubscription | undefined;
}

/**
 * The cursors of sessions that do not have everything yet. The current cursor means that everything
 * older was delivered, which is true of live subscriptions only. While older messages and changes
 * are on their way to a session, its heartbeats carry an earlier cursor; otherwise a client that
 * loses its connection would never get the rest.
 */
export class HeartbeatCursors {
  readonly #cursors: Pick<Cursors, 'current'>;
  readonly #held = new WeakMap<Progress, string>();
  readonly #resuming = new WeakSet<Progress>();

  constructor(cursors: Pick<Cursors, 'current'>) {
    this.#cursors = cursors;
  }

  /** Keeps the session's present cursor, when a subscription begins, until it is live. */
  hold(session: Progress): void {
    if (!this.#held.has(session)) this.#held.set(session, this.#cursors.current());
  }

  /** Keeps the client's cursor when a resume begins. */
  beginResume(session: Progress, cursor: string): void {
    this.#held.set(session, cursor);
    this.#resuming.add(session);
  }

  endResume(session: Progress): void {
    this.#resuming.delete(session);
  }

  /** Returns the cursor for the session's heartbeat, or undefined for the current one. */
  of(session: Progress): string | undefined {
    const held = this.#held.get(session);
    if (held === undefined || this.#resuming.has(session) || !isLive(session)) return held;
    this.#held.delete(session);
    return undefined;
  }
}

function isLive(session: Progress): boolean {
  for (const id of session.conversationIds) if (session.subscription(id)?.state !== 'live') return false;
  return true;
}

interface Subscriber extends Progress {
  readonly audience: ReaderAudience;
}

/**
 * Returns the heads for a session's heartbeat: of its live conversations whose head moved for it at
 * `sinceMs` (`performance.now()`) or later. Undefined if none did: an idle socket costs nothing.
 */
export function movedHeads(
  session: Subscriber,
  streams: Pick<Streams, 'moved'>,
  sinceMs: number,
): Readonly<Record<string, number>> | undefined {
  let heads: Record<string, number> | undefined;
  for (const id of session.conversationIds) {
    const moved = streams.moved(id, session.audience);
    if (moved === undefined || moved.atMs < sinceMs || session.subscription(id)?.state !== 'live') continue;
    heads ??= {};
    heads[id] = moved.head;
  }
  return heads;
}
