import type { Actor } from '@parley/protocol/resources/actor.ts';
import { useSyncExternalStore } from 'preact/compat';
import { useCallback } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';

/** Follows the name and picture behind an id; undefined until they are known, and for null. */
export function useActor(id: string | null | undefined): Actor | undefined {
  const { actors } = useSignedIn().client;
  const follow = useCallback(
    (changed: () => void) => actors.onLearned((learned) => learned === id && changed()),
    [actors, id],
  );
  return useSyncExternalStore(follow, () => (id ? actors.get(id) : undefined));
}
