import { useRef, useState } from 'preact/hooks';

/** What a button does, while it is done and after it failed. */
export interface Action {
  readonly isBusy: boolean;
  /** Why the last try failed; empty after one that succeeded. */
  readonly problem: string;
  /** Does it, unless it is being done. Resolves with whether it succeeded. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>;
}

/** Follows one action of a component, which is done once at a time. */
export function useAction(): Action {
  const [state, setState] = useState({ isBusy: false, problem: '' });
  const isBusy = useRef(false);
  const run = async (work: () => Promise<unknown>) => {
    if (isBusy.current) return false;
    isBusy.current = true;
    setState({ isBusy: true, problem: '' });
    try {
      await work();
      setState({ isBusy: false, problem: '' });
      return true;
    } catch (error) {
      setState({ isBusy: false, problem: error instanceof Error ? error.message : String(error) });
      return false;
    } finally {
      isBusy.current = false;
    }
  };
  return { ...state, run };
}
