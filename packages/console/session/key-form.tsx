import { Button } from '@parley/ui/elements/button.tsx';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { keySession, type Session } from './session.ts';

/** Signs in with an API key, which stays in the memory of the page. */
export function KeyForm({ onSession }: { readonly onSession: (session: Session) => void }) {
  const [account, setAccount] = useState('');
  const [key, setKey] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    onSession(keySession(account.trim(), key.trim()));
  };
  return (
    <details class="sign-in-key">
      <summary>{texts.session.useKey}</summary>
      <form onSubmit={submit}>
        <label>
          {texts.session.account}
          <input
            required
            value={account}
            placeholder="acc_…"
            autocomplete="off"
            onInput={(event) => setAccount(event.currentTarget.value)}
          />
        </label>
        <label>
          {texts.session.key}
          <input
            required
            type="password"
            value={key}
            autocomplete="off"
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <p>{texts.session.keyStays}</p>
        <Button type="submit" look="primary">
          {texts.session.signIn}
        </Button>
      </form>
    </details>
  );
}
