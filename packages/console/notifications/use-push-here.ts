import { useConnection } from '@parley/client/react';
import { useEffect } from 'preact/hooks';
import { go } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { pushWorker } from './push-worker.ts';

/** The message of the service worker when a push was clicked (docs/sdk.md#web-push). */
interface Opened {
  readonly type?: unknown;
  readonly payload?: { readonly conversation_id: string | null; readonly message_id: string | null };
}

/** Renews this browser's push at each visit, and shows the message of a push that was clicked. */
export function usePushHere(): void {
  const { client } = useSignedIn();
  const isLive = useConnection().state === 'live';
  useEffect(() => {
    if (!isLive) return;
    const renew = async () => {
      if ((await client.push.state()) === 'on') await client.push.register(pushWorker());
    };
    // The next visit tries again.
    renew().catch(() => {});
  }, [client, isLive]);
  useEffect(() => {
    const { serviceWorker }: Partial<Pick<Navigator, 'serviceWorker'>> = navigator;
    const open = ({ data }: MessageEvent<Opened>) => {
      if (data.type !== 'parley-open' || data.payload === undefined) return;
      const { conversation_id: id, message_id: message } = data.payload;
      if (id === null) go({ main: { at: 'notifications' } });
      else go({ main: { at: 'conversation', id, ...(message !== null && { message }) } });
    };
    serviceWorker?.addEventListener('message', open);
    return () => serviceWorker?.removeEventListener('message', open);
  }, []);
}
