import type { SocketSubscription } from '../socket/subscription.ts';
import type { ReaderAudience } from '../stream/reader.ts';
import type { Streams } from '../stream/streams.ts';

/** The part of a session that is read here. */
export interface Subscriber {
  readonly audience: ReaderAudience;
  readonly conversationIds: Iterable<string>;
  subscription(conversationId: string): SocketSubscription | undefined;
}

/**
 * Returns the heads for a session's heartbeat: of the conversations that are live and whose head
 * moved for it at `sinceMs` (`performance.now()`) or later. Returns undefined where none did, so
 * that an idle socket costs nothing.
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
