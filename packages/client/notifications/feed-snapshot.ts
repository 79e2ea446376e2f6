import type { Notification, NotificationSummary } from '@parley/protocol/resources/notification.ts';
import type { Loading } from '../live/loaded-object.ts';

/** The query of a feed of notifications. */
export interface NotificationQuery {
  /** Only this category, such as `chat.mention`. */
  readonly category?: string;
  /** Only this status. By default all but `dismissed`. */
  readonly status?: Notification['status'];
  /** Notifications of the first page and of each `loadMore`; 25 by default, 100 at most. */
  readonly pageSize?: number;
}

/** A feed of notifications at a moment. */
export interface NotificationsSnapshot extends Loading {
  /** The newest first; each is the same object until it changed. */
  readonly notifications: readonly Notification[];
  /** Whether `loadMore` may find more. */
  readonly hasMore: boolean;
  /** Counts over the whole feed, whatever the query; null until they are known. */
  readonly summary: NotificationSummary | null;
}
