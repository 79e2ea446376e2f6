import type {
  MarkAllStatus,
  Notification,
  NotificationSummary,
} from '@parley/protocol/resources/notification.ts';
import type { FollowHost } from '../live/follow-host.ts';
import { LoadedObject, UNREAD } from '../live/loaded-object.ts';
import type { NotificationQuery, NotificationsSnapshot } from './feed-snapshot.ts';
import type { NotificationFeed } from './notification-feed.ts';

/** The caller's own notifications, which stay up to date on every device. */
export class Notifications extends LoadedObject<NotificationsSnapshot, NotificationFeed> {
  readonly #mark = this.via('mark');

  /** Use Client.notifications. */
  constructor(host: FollowHost, query: NotificationQuery) {
    super(NOTHING, host, async ({ set }) => {
      const { NotificationFeed } = await import('./notification-feed.ts');
      return new NotificationFeed(host, query, set);
    });
  }

  /** Loads the next page. Resolves with `hasMore`, rejects as Client.fetch does. */
  readonly loadMore: () => Promise<boolean> = this.via('more', ({ reads }: NotificationFeed) => reads);

  /** Marks one as shown in the list. Rejects as Client.fetch does, as the other marks do. */
  readonly markSeen: (id: string) => Promise<Notification> = (id) => this.#mark(id, 'see');

  /** Marks one as opened. */
  readonly markRead: (id: string) => Promise<Notification> = (id) => this.#mark(id, 'read');

  /** Puts one away for good. */
  readonly dismiss: (id: string) => Promise<Notification> = (id) => this.#mark(id, 'dismiss');

  /** Brings all notifications of the caller to this status, loaded or not. */
  readonly markAll: (status: MarkAllStatus) => Promise<NotificationSummary> = this.via('markAll');
}

/** The snapshot before anything is known. */
export const NOTHING: NotificationsSnapshot = {
  ...UNREAD,
  notifications: [],
  hasMore: false,
  summary: null,
};
