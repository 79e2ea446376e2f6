import type { Client } from '@parley/client';
import { useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';

/** A credential that cannot be shown again. */
interface Secret {
  readonly text: string;
  readonly secret: string;
  /** The name of its owner. */
  readonly of: string;
  /** The id of its owner. */
  readonly at: string;
}

export interface Secrets {
  readonly shown: readonly Secret[];
  /** Shows a secret, in place of an earlier one of the resource that it `replaces`. */
  readonly add: (secret: Secret, replaces: string) => void;
  readonly close: (secret: Secret) => void;
  /** Removes the secret of a resource that was removed. */
  readonly forget: (id: string) => void;
}

// Secrets end with the session.
const kept = new WeakMap<Client, readonly Secret[]>();

/** Returns the shown secrets until the person closes them: other pages and notices keep them. */
export function useSecrets(): Secrets {
  const { client } = useSignedIn();
  const [shown, setShown] = useState(() => kept.get(client) ?? []);
  // Changes begin with the kept secrets: an answer may come once another page is shown.
  const change = (next: (shown: readonly Secret[]) => readonly Secret[]) => {
    kept.set(client, next(kept.get(client) ?? []));
    setShown(kept.get(client)!);
  };
  return {
    shown,
    add: (secret, replaces) => change((all) => [secret, ...all.filter(({ at }) => at !== replaces)]),
    close: (secret) => change((all) => all.filter((one) => one !== secret)),
    forget: (id) => change((all) => all.filter(({ at }) => at !== id)),
  };
}
