import type { InvitationFacts } from '@parley/protocol/resources/invitation.ts';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { cookieSession, type Session } from './session.ts';

const NAME = 'invitation';

/** Follows the invitation by which the page was opened; the page says when it has used it. */
export function useInvitation(): readonly [string | null, (secret: null) => void] {
  const [secret, setSecret] = useState(takeInvitation);
  useEffect(() => {
    // The address of an open page was changed to that of an invitation.
    const take = () => setSecret((before) => takeInvitation() ?? before);
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  return [secret, setSecret];
}

/** Takes the secret out of the address and the history of the browser. */
function takeInvitation(): string | null {
  const secret = new URLSearchParams(location.hash.slice(1)).get(NAME);
  if (secret !== null) history.replaceState(null, '', location.pathname + location.search);
  return secret;
}

/** Reads what an invitation is, without using it; null where it cannot be used. */
export async function readInvitation(secret: string): Promise<InvitationFacts | null> {
  const answer = await fetch('/v1/auth/invitation', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ invitation: secret }),
  });
  return answer.ok ? ((await answer.json()) as InvitationFacts) : null;
}

/** Signs in by an invitation. Rejects with an Error whose message is for the person. */
export async function acceptInvitation(secret: string): Promise<Session> {
  const answer = await fetch('/v1/auth/session', {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ invitation: secret }),
  });
  if (!answer.ok) throw new Error(await reasonOf(answer));
  const session = await cookieSession();
  if (session === null) {
    throw new Error(texts.session.notKept);
  }
  return session;
}

async function reasonOf(answer: Response): Promise<string> {
  try {
    return failureText((await answer.json()).error);
  } catch {
    return texts.session.answered(answer.status);
  }
}
