import type { Notification, Notifications, NotificationsSnapshot } from '@parley/client';
import { useNotifications } from '@parley/client/react';
import { useMemo } from 'preact/hooks';

export interface UnreadFeed extends Omit<NotificationsSnapshot, 'summary'> {
  readonly live: Notifications | undefined;
  readonly loadMore: () => Promise<unknown>;
}

/** Follows notifications not opened yet, unseen and seen, of one kind or of all. */
export function useUnreadFeed(category: string): UnreadFeed {
  const kind = category === '' ? {} : { category };
  const unseen = useNotifications({ ...kind, status: 'unseen' });
  const seen = useNotifications({ ...kind, status: 'seen' });
  const feeds = [unseen, seen];
  const { notifications: one, hasMore: oneHasMore } = unseen;
  const { notifications: other, hasMore: otherHasMore } = seen;
  const notifications = useMemo(
    () =>
      merged([
        { notifications: one, hasMore: oneHasMore },
        { notifications: other, hasMore: otherHasMore },
      ]),
    [one, oneHasMore, other, otherHasMore],
  );
  return {
    notifications,
    hasMore: unseen.hasMore || seen.hasMore,
    status: feeds.find(({ status }) => status !== 'ready')?.status ?? 'ready',
    error: unseen.error ?? seen.error,
    live: unseen.live,
    loadMore: () => Promise.all(feeds.map(({ hasMore, live }) => (hasMore ? live?.loadMore() : undefined))),
  };
}

/** Returns two lists as one, down to where the first of them may lack something. */
function merged(
  lists: readonly Pick<NotificationsSnapshot, 'notifications' | 'hasMore'>[],
): readonly Notification[] {
  const ends = lists.flatMap(({ notifications, hasMore }) => {
    const last = notifications.at(-1);
    return hasMore && last !== undefined ? keyOf(last) : [];
  });
  const end = ends.sort().at(-1) ?? '';
  return lists
    .flatMap(({ notifications }) => notifications)
    .filter((notification) => keyOf(notification) >= end)
    .sort((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1));
}

function keyOf({ created_at, id }: Notification): string {
  return `${created_at} ${id}`;
}
