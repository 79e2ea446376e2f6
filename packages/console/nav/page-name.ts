import { useSyncExternalStore } from 'preact/compat';
import { useEffect } from 'preact/hooks';

let name: string | undefined;
const listeners = new Set<() => void>();

function set(next: string | undefined): void {
  name = next;
  for (const listener of listeners) listener();
}

function follow(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Names what a part shows, for the title of the page, while the part is shown. Empty: not yet. */
export function useNamedPage(shown: string): void {
  useEffect(() => {
    if (shown === '') return undefined;
    set(shown);
    return () => {
      if (name === shown) set(undefined);
    };
  }, [shown]);
}

/**
 * Follows the name that the shown part gives to the page; undefined: the part has its own alone.
 */
export function usePageName(): string | undefined {
  return useSyncExternalStore(follow, () => name);
}
