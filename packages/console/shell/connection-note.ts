import type { ConnectionSnapshot } from '@parley/client';
import { isSessionOver } from '../session/session.ts';
import { texts } from '../texts/texts.ts';

/** The state of the connection to the server, as a person reads it. */
export interface ConnectionNote {
  readonly look: 'live' | 'wait' | 'offline';
  /** Whether only another sign-in leads on. */
  readonly isSignInDue?: boolean;
  readonly title: string;
  /** The reason, and the number of waiting messages; empty where there is nothing to say. */
  readonly detail: string;
}

export interface ConnectionFacts extends Pick<ConnectionSnapshot, 'state' | 'error' | 'unsent'> {
  /** Whether the browser reports a network. */
  readonly hasNetwork: boolean;
  /** Whether the person has broken the network of the page. */
  readonly isBroken: boolean;
}

/** Says whether the page is live, and if not, why. */
export function connectionNote({
  state,
  error,
  unsent,
  hasNetwork,
  isBroken,
}: ConnectionFacts): ConnectionNote {
  const words = texts.shell;
  const waiting = unsent === 0 ? '' : words.waiting(unsent);
  if (isBroken) return offline(words.broken, waiting);
  if (isSessionOver(error)) {
    const detail = joined(words.signInToGoOn, waiting);
    return { look: 'offline', isSignInDue: true, title: words.sessionEnded, detail };
  }
  if (!hasNetwork) return offline(words.noNetwork, waiting);
  switch (state) {
    case 'live': {
      const isSlow = unsent > 0 && error !== null;
      return isSlow
        ? { look: 'wait', title: words.delayed, detail: joined(words.reasons[error.reason], waiting) }
        : { look: 'live', title: words.live, detail: '' };
    }
    case 'catching_up':
      return { look: 'wait', title: words.catchingUp, detail: waiting };
    case 'connecting':
      return error === null
        ? { look: 'wait', title: words.connecting, detail: waiting }
        : offline(words.reasons[error.reason], waiting);
    case 'offline':
      return offline(error === null ? '' : words.reasons[error.reason], waiting);
  }
}

function offline(why: string, waiting: string): ConnectionNote {
  return { look: 'offline', title: texts.shell.offline, detail: joined(why, waiting) };
}

function joined(...sentences: readonly string[]): string {
  return sentences.filter(Boolean).join(' ');
}
