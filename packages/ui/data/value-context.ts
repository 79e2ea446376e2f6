import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** How the page around shows values of which a schema says too little. */
export interface ValueLook {
  /** Returns what is shown for an id; undefined: the id itself. */
  readonly ofId: (id: string) => ComponentChildren | undefined;
  /** Returns the label of a field; undefined: made from its name. */
  readonly labelOf: (name: string) => string | undefined;
}

export const ValueContext = createContext<ValueLook>({ ofId: () => undefined, labelOf: () => undefined });

export function useValueLook(): ValueLook {
  return useContext(ValueContext);
}
