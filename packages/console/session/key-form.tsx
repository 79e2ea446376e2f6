import { Button } from '@parley/ui/elements/button.tsx';
import { useState } from 'preact/hooks';
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
      <summary>Use an API key</summary>
      <form onSubmit={submit}>
        <label>
          Account
          <input
            required
            value={account}
            placeholder="acc_…"
            autocomplete="off"
            onInput={(event) => setAccount(event.currentTarget.value)}
          />
        </label>
        <label>
          API key
          <input
            required
            type="password"
            value={key}
            autocomplete="off"
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <p>The key stays in the memory of this page, and is asked for again after a reload.</p>
        <Button type="submit" look="primary">
          Sign in
        </Button>
      </form>
    </details>
  );
}
