import type { ClientError } from '@parley/client';
import { texts } from '../texts/texts.ts';

/** A person's session. All credentials stay in the memory of the page. */
export interface Session {
  /** A new key for each sign-in. */
  readonly key: string;
  readonly account: string;
  /** The id of the person's actor; null for an API key, whose actor the server alone knows. */
  readonly actor: string | null;
  /** Returns a valid token. The SDK calls it again when one expires. */
  readonly getToken: () => Promise<string>;
  /** Ends the session on the server, where it has one. */
  readonly end: () => Promise<void>;
}

/** A person of the demo account, whom anybody at the machine of the server may be. */
export interface DemoPerson {
  readonly key: string;
  readonly name: string;
  readonly detail: string;
}

/** A session that has ended on the server: only another sign-in leads on. */
class SessionOver extends Error {
  override readonly message = texts.session.over;
}

/** Returns whether the connection cannot go on because the session has ended. */
export function isSessionOver(error: ClientError | null): boolean {
  return error?.error instanceof Error && error.error.cause instanceof SessionOver;
}

/** Returns the session of the browser's cookie, or null if it has none. */
export async function cookieSession(): Promise<Session | null> {
  let current = await tradeCookie().catch(() => null);
  if (current === null) return null;
  const { account_id: account, user_id } = current;
  let isFresh = true;
  let askAgainAt = 0;
  return {
    key: `cookie ${user_id}`,
    account,
    actor: user_id,
    getToken: async () => {
      // Another tab may sign the same person in, so it is asked again, but not at each try.
      if (Date.now() < askAgainAt) throw new SessionOver();
      if (!isFresh) current = await tradeCookie();
      isFresh = false;
      if (current?.user_id === user_id) return current.access_token;
      askAgainAt = Date.now() + ASK_AGAIN_MS;
      throw new SessionOver();
    },
    end: async () => {
      await fetch('/v1/auth/session', { method: 'DELETE' });
    },
  };
}

/** Returns a session with an API key. It ends with the page, which alone remembers the key. */
export function keySession(account: string, token: string): Session {
  return { key: `key ${account}`, account, actor: null, getToken: async () => token, end: async () => {} };
}

/** Returns the persons of the demo account; none unless the page is on the server's machine. */
export async function demoPeople(): Promise<readonly DemoPerson[]> {
  const demo = await demoSession();
  if (demo === null) return [];
  return Object.entries(demo.people).map(([key, { name, detail }]) => ({ key, name, detail }));
}

/** Returns a session as a person of the demo account, or null if there is none of this key. */
export async function openDemoSession(key: string): Promise<Session | null> {
  let current = await demoSession();
  if (current === null || !Object.hasOwn(current.people, key)) return null;
  const account = current.account_id;
  const actor = current.people[key]!.id;
  let isFresh = true;
  return {
    key: `demo ${key}`,
    account,
    actor,
    getToken: async () => {
      if (!isFresh) current = await demoSession();
      isFresh = false;
      const person = current?.people[key];
      if (person === undefined) throw new Error(texts.session.demoGone);
      return person.token;
    },
    end: async () => {},
  };
}

interface CookieTrade {
  readonly access_token: string;
  readonly account_id: string;
  readonly user_id: string;
}

/** A session that has ended comes back by another tab alone. */
const ASK_AGAIN_MS = 60_000;

/** Returns null for a browser without a session. Rejects if the server does not say. */
async function tradeCookie(): Promise<CookieTrade | null> {
  const answer = await fetch('/v1/auth/session', { method: 'POST' });
  if (answer.status >= 500 || answer.status === 429) throw new Error(texts.session.answered(answer.status));
  return answer.status === 200 ? answer.json() : null;
}

interface DemoSession {
  readonly account_id: string;
  readonly people: Readonly<
    Record<
      string,
      { readonly id: string; readonly name: string; readonly detail: string; readonly token: string }
    >
  >;
}

async function demoSession(): Promise<DemoSession | null> {
  const answer = await fetch('/demo/session', { method: 'POST' });
  return answer.ok ? answer.json() : null;
}
