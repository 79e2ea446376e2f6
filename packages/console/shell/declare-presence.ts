import { useClient } from '@parley/client/react';
import { useEffect } from 'preact/hooks';

/** Declares that the person is online while a page is visible, and away while none is. */
export function useDeclaredPresence(): void {
  const client = useClient();
  useEffect(() => {
    if (client === null) return;
    const declare = () => {
      // Without a connection it is declared with the next one.
      client.setPresence(document.visibilityState === 'visible' ? 'online' : 'away').catch(() => {});
    };
    declare();
    document.addEventListener('visibilitychange', declare);
    return () => document.removeEventListener('visibilitychange', declare);
  }, [client]);
}
