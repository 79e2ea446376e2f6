import { useEffect, useRef, useState } from 'preact/hooks';
import { useEvent } from './use-event.ts';

/** A page of a list. */
interface Page<T> {
  readonly data: readonly T[];
  readonly page_info: { readonly has_next_page: boolean };
}

type PagesOf<T> = AsyncGenerator<Page<T>, void, undefined>;

/** The part of a list that was loaded. */
export interface Pages<T> {
  readonly items: readonly T[];
  readonly status: 'loading' | 'ready' | 'error';
  /** Why the last page could not be loaded. */
  readonly problem: string;
  readonly hasMore: boolean;
  /** Loads the next page. */
  readonly more: () => void;
}

/**
 * Loads a list by pages: the first one when the component is shown, and again when `key` changes.
 * Nothing is loaded while `key` is empty.
 */
export function usePages<T>(key: string, open: () => PagesOf<T>): Pages<T> {
  const [state, setState] = useState<Omit<Pages<T>, 'more'>>(NOTHING);
  const pages = useRef<PagesOf<T> | null>(null);
  const more = useEvent(() => {
    const from = pages.current;
    if (from === null) return;
    setState((known) => ({ ...known, status: 'loading', problem: '' }));
    from.next().then(
      ({ value }) => {
        if (pages.current !== from) return;
        setState(({ items }) => ({
          items: [...items, ...(value?.data ?? [])],
          status: 'ready',
          problem: '',
          hasMore: value?.page_info.has_next_page ?? false,
        }));
      },
      (error: Error) => {
        if (pages.current !== from) return;
        setState((known) => ({ ...known, status: 'error', problem: error.message }));
      },
    );
  });
  const begin = useEvent(open);
  useEffect(() => {
    setState(NOTHING);
    if (key === '') return;
    pages.current = begin();
    more();
    return () => {
      pages.current = null;
    };
  }, [key, begin, more]);
  return { ...state, more };
}

const NOTHING = { items: [], status: 'loading', problem: '', hasMore: false } as const;
