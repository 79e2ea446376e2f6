import type { Notification } from '@parley/client';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { useEffect, useState } from 'preact/hooks';
import { usePlace } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { conversationOf } from './notification-place.ts';
import { ring } from './sound.ts';

/**
 * Rings for notifications that arrive, and returns the title of the newest one, for screen readers.
 * Notifications on the screen do neither.
 */
export function useArrivals(): string {
  const { client } = useSignedIn();
  const { main } = usePlace();
  const [newest, setNewest] = useState('');
  const arrived = useEvent((notification: Notification) => {
    const isShown = main.at === 'conversation' && main.id === conversationOf(notification);
    if (notification.status !== 'unseen' || (isShown && document.hasFocus())) return;
    setNewest(notification.title);
    ring(notification.id);
  });
  useEffect(() => client.on('notification.created', arrived), [client, arrived]);
  return newest;
}
