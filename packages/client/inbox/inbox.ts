import type { FollowHost } from '../live/follow-host.ts';
import { LoadedObject, UNREAD } from '../live/loaded-object.ts';
import type { InboxReader } from './inbox-reader.ts';
import type { InboxQuery, InboxSnapshot } from './inbox-snapshot.ts';

/**
 * A list of conversations that stays right: a message moves its conversation to the top, changes of
 * other devices and people are shown, and conversations leave that do not match the filter. Only
 * the conversations that events name are requested.
 */
export class Inbox extends LoadedObject<InboxSnapshot, InboxReader> {
  /** Use Client.inbox. */
  constructor(host: FollowHost, query: InboxQuery) {
    super(NOTHING, host, async ({ set }) => {
      const { InboxReader } = await import('./inbox-reader.ts');
      return new InboxReader(host, query, set);
    });
  }

  /** Loads the next page. Resolves with `hasMore`, rejects as Client.fetch does. */
  readonly loadMore: () => Promise<boolean> = this.via('more', ({ reads }: InboxReader) => reads);
}

/** The snapshot before anything is known. */
export const NOTHING: InboxSnapshot = {
  ...UNREAD,
  conversations: [],
  hasMore: false,
  summary: null,
};
