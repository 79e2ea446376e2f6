import { useMemo, useState } from 'preact/hooks';
import { KeptWriting, NOTHING_WRITTEN, type Writing } from '../session/kept-writing.ts';
import { useSignedIn } from '../session/session-context.tsx';

/** What is written at a place, which is kept with every change. */
export interface WritingState {
  readonly writing: Writing;
  readonly change: (change: Partial<Writing>) => void;
  /** It was sent: what is left is for whom the person writes. */
  readonly clear: () => void;
}

/** Follows what the person writes at a place: a conversation, or a thread. */
export function useWriting(place: string): WritingState {
  const { me } = useSignedIn();
  const kept = useMemo(() => new KeptWriting({ account: me.account.id, actor: me.actor.id }), [me]);
  const [state, setState] = useState(() => ({ place, writing: kept.get(place) }));
  // Another place shows at once what is kept there.
  const { writing } = state.place === place ? state : { writing: kept.get(place) };
  const set = (next: (writing: Writing) => Writing) =>
    setState((before) => {
      const changed = next(before.place === place ? before.writing : kept.get(place));
      kept.set(place, changed);
      return { place, writing: changed };
    });
  return {
    writing,
    change: (change) => set((before) => ({ ...before, ...change })),
    clear: () => set(({ audience }) => ({ ...NOTHING_WRITTEN, audience })),
  };
}
