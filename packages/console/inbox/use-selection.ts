import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { useRef, useState } from 'preact/hooks';

/** The selected rows of a list, by their ids. */
export interface Selection {
  readonly selected: ReadonlySet<string>;
  /** Selects a row or ends its selection; with a range, that of all rows since the last choice. */
  readonly toggle: (id: string, isRange: boolean) => void;
  readonly set: (ids: readonly string[]) => void;
}

/** Rows that leave the list are no longer selected. */
export function useSelection(ids: readonly string[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(NONE);
  const last = useRef<string | undefined>(undefined);
  const selected = chosen.size === 0 ? chosen : new Set(ids.filter((id) => chosen.has(id)));
  const toggle = useEvent((id: string, isRange: boolean) => {
    const next = new Set(selected);
    const isAdded = !selected.has(id);
    const [from, to] = [ids.indexOf(last.current ?? ''), ids.indexOf(id)];
    const isKnown = isRange && from >= 0 && to >= 0;
    const rows = isKnown ? ids.slice(Math.min(from, to), Math.max(from, to) + 1) : [id];
    for (const one of rows) {
      if (isAdded) next.add(one);
      else next.delete(one);
    }
    last.current = id;
    setChosen(next);
  });
  return { selected, toggle, set: (next) => setChosen(new Set(next)) };
}

const NONE: ReadonlySet<string> = new Set();
