import { useEffect, useMemo, useState } from 'preact/hooks';
import { KeptWriting, NOTHING_WRITTEN, type Writing } from '../session/kept-writing.ts';
import { useSignedIn } from '../session/session-context.tsx';

/** The writing at a place, which is kept with every change. */
export interface WritingState {
  readonly writing: Writing;
  readonly change: (change: Partial<Writing>) => void;
  /** Called once it was sent: only its audience stays. */
  readonly clear: () => void;
}

/**
 * Follows the person's writing at a place: a conversation, or a thread. A person writes in one tab
 * at a time, the one that has the focus: the others take its text, so that none of them overwrites
 * it with an older one.
 */
export function useWriting(place: string): WritingState {
  const { me } = useSignedIn();
  const kept = useMemo(() => new KeptWriting({ account: me.account.id, actor: me.actor.id }), [me]);
  const [state, setState] = useState(() => ({ place, writing: kept.get(place) }));
  useEffect(() => {
    const take = () => document.hasFocus() || setState({ place, writing: kept.get(place) });
    return kept.follow(place, take);
  }, [kept, place]);
  // Another place shows its kept writing at once.
  const { writing } = state.place === place ? state : { writing: kept.get(place) };
  const set = (next: (writing: Writing) => Writing) =>
    setState((before) => {
      const changed = next(before.place === place ? before.writing : kept.get(place));
      kept.set(place, changed);
      return { place, writing: changed };
    });
  return {
    writing,
    change: (change) => {
      if (change.audience !== undefined) kept.choose(change.audience);
      set((before) => ({ ...before, ...change }));
    },
    clear: () => set(({ audience }) => ({ ...NOTHING_WRITTEN, audience })),
  };
}
