import type { Notification, Notifications } from '@parley/client';
import { useEffect, useRef } from 'preact/hooks';

/** Marks the notifications of a list as seen, once the page is visible. */
export function useMarkSeen(notifications: readonly Notification[], live: Notifications | undefined): void {
  const asked = useRef(new Set<string>());
  useEffect(() => {
    if (live === undefined) return;
    const mark = () => {
      if (document.visibilityState !== 'visible') return;
      for (const { id, status } of notifications) {
        if (status !== 'unseen' || asked.current.has(id)) continue;
        asked.current.add(id);
        // A failed one is marked when it is shown the next time.
        live.markSeen(id).catch(() => asked.current.delete(id));
      }
    };
    mark();
    document.addEventListener('visibilitychange', mark);
    return () => document.removeEventListener('visibilitychange', mark);
  }, [notifications, live]);
}
