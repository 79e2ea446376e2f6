import type { Client } from '@parley/client';
import { ParleyProvider } from '@parley/client/react';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { useEffect, useState } from 'preact/hooks';
import { currentPlace, go } from './nav/place.ts';
import { connectAs } from './session/connect-as.ts';
import { useInvitation } from './session/invitation.ts';
import { Invited } from './session/invited.tsx';
import type { Session } from './session/session.ts';
import { SessionContext } from './session/session-context.tsx';
import { forgetDemo, SignIn } from './session/sign-in.tsx';
import { Shell } from './shell/shell.tsx';

/** Shows the page to sign in, and the console while a person is signed in. */
export function Console() {
  const [session, setSession] = useState<Session | null>(null);
  const [invitation, setInvitation] = useInvitation();
  if (invitation !== null) {
    const enter = (next: Session) => {
      forgetDemo();
      setSession(next);
      setInvitation(null);
    };
    return <Invited secret={invitation} onSession={enter} onOther={() => setInvitation(null)} />;
  }
  if (session === null) {
    const begin = (next: Session) => {
      if (currentPlace().main.at === 'home') go({ main: { at: 'home', opens: 'newest' } }, { replace: true });
      setSession(next);
    };
    return <SignIn onSession={setSession} onDemo={begin} />;
  }
  return <SignedIn key={session.key} session={session} onEnd={() => setSession(null)} />;
}

interface SignedInProps {
  readonly session: Session;
  /** The session has ended, here or elsewhere. */
  readonly onEnd: () => void;
}

function SignedIn({ session, onEnd }: SignedInProps) {
  const [client, setClient] = useState<Client | null>(null);
  const end = useEvent(onEnd);
  useEffect(() => {
    const connected = connectAs(session);
    const stop = connected.on('end', end);
    setClient(connected);
    return () => {
      stop();
      connected.close();
    };
  }, [session, end]);
  if (client === null) return null;
  return (
    <ParleyProvider client={client}>
      <SessionContext client={client} session={session} onEnd={onEnd}>
        <Shell />
      </SessionContext>
    </ParleyProvider>
  );
}
