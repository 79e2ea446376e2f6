import type { FollowHost } from '../live/follow-host.ts';
import { LoadedObject } from '../live/loaded-object.ts';
import type { InboxReader } from './inbox-reader.ts';
import type { InboxQuery, InboxSnapshot } from './inbox-snapshot.ts';

/**
 * A list of conversations that stays right: a message moves its conversation to the top, a change
 * of another device or person is shown, and what no longer matches the filter leaves. Events name
 * the conversations that may have changed, and those alone are asked for.
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
  readonly loadMore: () => Promise<boolean> = this.via('loadMore');
}

/** The snapshot before anything is known. */
export const NOTHING: InboxSnapshot = {
  status: 'loading',
  error: null,
  conversations: [],
  hasMore: false,
  summary: null,
};
