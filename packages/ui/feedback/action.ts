import { useRef, useState } from 'preact/hooks';
import { failureText } from '../texts/failure-text.ts';

/** The action of a button, while it runs and after it failed. */
export interface Action {
  readonly isBusy: boolean;
  /** The failure of the last try; empty after a success. */
  readonly problem: string;
  /** Does the work, unless it is under way. Resolves with whether it succeeded. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>;
}

/** Follows one action of a component, which runs once at a time. */
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
      setState({ isBusy: false, problem: failureText(error) });
      return false;
    } finally {
      isBusy.current = false;
    }
  };
  return { ...state, run };
}
