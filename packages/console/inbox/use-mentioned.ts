import { useNotifications } from '@parley/client/react';
import { useMemo } from 'preact/hooks';

/** Returns the ids of conversations in which an unread message mentions the person. */
export function useMentioned(): ReadonlySet<string> {
  const { notifications } = useNotifications(MENTIONS);
  return useMemo(() => {
    const unread = notifications.filter(({ status }) => status === 'unseen' || status === 'seen');
    return new Set(unread.flatMap(({ resource_id }) => resource_id ?? []));
  }, [notifications]);
}

const MENTIONS = { category: 'chat.mention', pageSize: 50 };
