import type { SocketSubscription } from '../socket/subscription.ts';
import type { ReaderAudience } from '../stream/reader.ts';
import type { Streams } from '../stream/streams.ts';

/** What is asked of a session. */
export interface Subscriber {
  readonly audience: ReaderAudience;
  readonly conversationIds: Iterable<string>;
  subscription(conversationId: string): SocketSubscription | undefined;
}

/**
 * For a session's heartbeat: the conversations that it gets live and whose head moved for it at `sinceMs`
 * (`performance.now()`) or later; undefined where none did, which is what an idle socket costs.
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
