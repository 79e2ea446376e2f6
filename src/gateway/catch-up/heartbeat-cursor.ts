import type { SocketSubscription } from '../socket/subscription.ts';
import type { Cursors } from './cursors.ts';

/** How far the subscriptions of a session are. */
interface Progress {
  readonly conversationIds: Iterable<string>;
  subscription(conversationId: string): SocketSubscription | undefined;
}

/**
 * The resume cursors of sessions that do not have everything yet. The current one says that whatever is older was
 * delivered, which is so for who is live: while messages and changes of before are still on their way to a session,
 * its heartbeats carry the cursor from before, or who lost its connection then would never get the rest.
 */
export class HeartbeatCursors {
  readonly #cursors: Pick<Cursors, 'current'>;
  readonly #held = new WeakMap<Progress, string>();
  readonly #resuming = new WeakSet<Progress>();

  constructor(cursors: Pick<Cursors, 'current'>) {
    this.#cursors = cursors;
  }

  /** A subscription begins: what is true of the session now stays its cursor until it is live. */
  hold(session: Progress): void {
    if (!this.#held.has(session)) this.#held.set(session, this.#cursors.current());
  }

  /** A resume begins from the client's cursor. */
  beginResume(session: Progress, cursor: string): void {
    this.#held.set(session, cursor);
    this.#resuming.add(session);
  }

  endResume(session: Progress): void {
    this.#resuming.delete(session);
  }

  /** What its heartbeat carries now; undefined: the current one. */
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
