import type { Client } from '@parley/client';
import type { Me } from '@parley/protocol/resources/me.ts';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { forgetPerson } from './connect-as.ts';
import type { Session } from './session.ts';

/** The person that is signed in. */
export interface SignedIn {
  readonly client: Client;
  readonly session: Session;
  readonly me: Me;
  /** Whether the person may do something, such as `users:create`. */
  readonly can: (permission: string) => boolean;
  /** Reads `me` again, after the person has changed it. */
  readonly reload: () => Promise<void>;
  readonly signOut: () => Promise<void>;
  /** Shows the page to sign in, at the same place, after the session has ended elsewhere. */
  readonly signInAgain: () => void;
}

const Context = createContext<SignedIn | null>(null);

/** Returns the person who is signed in. Throws an Error outside of the console. */
export function useSignedIn(): SignedIn {
  const value = useContext(Context);
  if (value === null) throw new Error('There is no session above this component.');
  return value;
}

export interface SessionContextProps {
  readonly client: Client;
  readonly session: Session;
  readonly onEnd: () => void;
  readonly children: ComponentChildren;
}

/** Reads the person who is signed in, and then shows its children. */
export function SessionContext({ client, session, onEnd, children }: SessionContextProps) {
  const { value: me, problem, reload } = useResource(client, () => client.me());
  const end = useEvent(onEnd);
  const value = useMemo((): SignedIn | null => {
    if (me === null) return null;
    const granted = new Set(me.permissions);
    const signOut = async () => {
      // The browser must not show the messages of a person who has left it.
      await client.push.unregister().catch(() => {});
      await forgetPerson({ account: me.account.id, actor: me.actor.id });
      await session.end();
      end();
    };
    return {
      client,
      session,
      me,
      can: (permission) => granted.has(permission),
      reload,
      signOut,
      signInAgain: end,
    };
  }, [client, session, me, reload, end]);
  if (value === null) {
    return (
      <p class="session-wait" role="status">
        {problem === '' ? texts.session.connecting : problem}
      </p>
    );
  }
  return <Context.Provider value={value}>{children}</Context.Provider>;
}
