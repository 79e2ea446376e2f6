import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { texts } from '../texts/texts.ts';
import { KeyForm } from './key-form.tsx';
import { cookieSession, type DemoPerson, demoPeople, openDemoSession, type Session } from './session.ts';

interface Provider {
  readonly id: string;
  readonly name: string;
}

export interface SignInProps {
  readonly onSession: (session: Session) => void;
  /** A person of the demo account was chosen. */
  readonly onDemo: (session: Session) => void;
}

/** Signs in by a session that exists already, and offers every other way. */
export function SignIn({ onSession, onDemo }: SignInProps) {
  const { value: offered, problem } = useResource('offered', async () => {
    const found = await begin();
    if (!('session' in found)) return found.offered;
    onSession(found.session);
    return null;
  });
  const enter = async ({ key }: DemoPerson) => {
    const session = await demoSessionOf(key);
    if (session !== null) onDemo(session);
  };
  if (offered === null) return <p class="session-wait">{problem}</p>;
  return (
    <main class="sign-in">
      <h1>{texts.session.signInTo}</h1>
      {offered.providers.length > 0 && (
        <section aria-label={texts.session.providers}>
          {offered.providers.map(({ id, name }) => (
            <a key={id} class="button button-primary" href={beginAt(id)}>
              {texts.session.signInWith(name)}
            </a>
          ))}
        </section>
      )}
      {offered.people.length > 0 && (
        <section aria-labelledby="sign-in-demo">
          <h2 id="sign-in-demo">{texts.session.demo}</h2>
          {offered.people.map((person) => (
            <button key={person.key} type="button" class="sign-in-person" onClick={() => enter(person)}>
              <Avatar name={person.name} />
              <span>
                {person.name}
                <small>{person.detail}</small>
              </span>
            </button>
          ))}
          <a class="sign-in-person" href="/demo/shop" target="_blank" rel="noopener">
            <Avatar name={DEMO_CUSTOMER} />
            <span>
              {DEMO_CUSTOMER}
              <small>{texts.session.demoCustomer}</small>
            </span>
          </a>
        </section>
      )}
      <KeyForm onSession={onSession} />
    </main>
  );
}

/** The person of the sample shop, by the name that the demo account has. */
const DEMO_CUSTOMER = 'Carl Customer';

interface Offered {
  readonly providers: readonly Provider[];
  readonly people: readonly DemoPerson[];
}

/** Returns the existing session, else the ways to sign in. */
async function begin(): Promise<{ readonly session: Session } | { readonly offered: Offered }> {
  const asked = new URLSearchParams(location.search).get('as') ?? sessionStorage.getItem(DEMO_KEY);
  const session = (asked !== null && (await demoSessionOf(asked))) || (await cookieSession());
  if (session !== null) return { session };
  const [offeredProviders, people] = await Promise.all([providers(), demoPeople()]);
  return { offered: { providers: offeredProviders, people } };
}

/** Opens the session of a demo person, with whom the tab stays. */
async function demoSessionOf(key: string): Promise<Session | null> {
  const session = await openDemoSession(key);
  if (session !== null) sessionStorage.setItem(DEMO_KEY, key);
  return session;
}

/** The name of a demo person, which is no credential: a reload of the tab stays with it. */
const DEMO_KEY = 'parley-demo-person';

/** Forgets the demo person of this tab. */
export function forgetDemo(): void {
  sessionStorage.removeItem(DEMO_KEY);
}

async function providers(): Promise<readonly Provider[]> {
  const account = new URLSearchParams(location.search).get('account');
  const query = account === null ? '' : `?${new URLSearchParams({ account })}`;
  const answer = await fetch(`/v1/auth/sign-in/providers${query}`);
  return answer.ok ? (await answer.json()).data : [];
}

function beginAt(provider: string): string {
  const query = new URLSearchParams({ provider, return_to: location.pathname + location.search });
  return `/v1/auth/sign-in?${query}`;
}
