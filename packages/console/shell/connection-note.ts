import type { ClientErrorReason, ConnectionSnapshot } from '@parley/client';
import { isSessionOver } from '../session/session.ts';

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
  const waiting =
    unsent === 0 ? '' : `${unsent} ${unsent === 1 ? 'message waits' : 'messages wait'} to be sent.`;
  if (isBroken) return offline('You have broken the network of this page.', waiting);
  if (isSessionOver(error)) {
    const detail = joined('Sign in to go on.', waiting);
    return { look: 'offline', isSignInDue: true, title: 'Your session has ended', detail };
  }
  if (!hasNetwork) return offline('This device has no network.', waiting);
  switch (state) {
    case 'live': {
      const isSlow = unsent > 0 && error !== null;
      return isSlow
        ? { look: 'wait', title: 'Sending is delayed', detail: joined(REASONS[error.reason], waiting) }
        : { look: 'live', title: 'Live', detail: '' };
    }
    case 'catching_up':
      return { look: 'wait', title: 'Catching up…', detail: waiting };
    case 'connecting':
      return error === null
        ? { look: 'wait', title: 'Connecting…', detail: waiting }
        : offline(REASONS[error.reason], waiting);
    case 'offline':
      return offline(error === null ? '' : REASONS[error.reason], waiting);
  }
}

function offline(why: string, waiting: string): ConnectionNote {
  return { look: 'offline', title: 'Offline', detail: joined(why, waiting) };
}

function joined(...sentences: readonly string[]): string {
  return sentences.filter(Boolean).join(' ');
}

const REASONS: Readonly<Record<ClientErrorReason, string>> = {
  network: 'The server cannot be reached.',
  server_busy: 'The server is overloaded.',
  server_error: 'The server has failed.',
  url_source: 'The server cannot be reached.',
  url_rejected: 'The browser does not allow the connection.',
  token_source: 'The session cannot be continued.',
  credential_rejected: 'The session has ended. Sign in again.',
  account_rejected: 'The account cannot be used.',
  version_rejected: 'The server is of another version. Reload the page.',
  forbidden: 'You may not connect.',
  protocol: 'Page and server do not understand each other. Reload the page.',
  store: 'What waits may not survive a reload.',
};
