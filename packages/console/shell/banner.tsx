import { useConnection } from '@parley/client/react';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { Unplug } from 'lucide';
import { useSyncExternalStore } from 'preact/compat';
import { network } from '../session/network.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { connectionNote } from './connection-note.ts';

/** Says whether the page is live, and breaks its network for a while, to show what happens then. */
export function Banner() {
  const { signInAgain } = useSignedIn();
  const { state, error, unsent } = useConnection();
  const isBroken = useSyncExternalStore(network.follow, network.brokenUntil) !== null;
  const hasNetwork = useSyncExternalStore(followDevice, () => navigator.onLine);
  const {
    look,
    title,
    detail,
    isSignInDue = false,
  } = connectionNote({ state, error, unsent, hasNetwork, isBroken });
  return (
    <div class="banner" data-look={look}>
      <p role="status" class="banner-text">
        <span class="banner-title">{title}</span>
        {detail !== '' && <span class="banner-detail">{detail}</span>}
      </p>
      {isSignInDue ? (
        <Button look="primary" onClick={signInAgain}>
          {texts.shell.signIn}
        </Button>
      ) : isBroken ? (
        <Button class="banner-mend" onClick={() => network.mend()}>
          {texts.shell.mend}
        </Button>
      ) : (
        <IconButton icon={Unplug} label={texts.shell.breakNetwork} onClick={() => network.break(BROKEN_MS)} />
      )}
    </div>
  );
}

const BROKEN_MS = 30_000;

function followDevice(listener: () => void): () => void {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
}
