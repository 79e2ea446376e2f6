import { useRef } from 'preact/hooks';
import { type Resource, useResource } from './resource.ts';

/** A page of a list. */
interface Page<T> {
  readonly data: readonly T[];
  readonly page_info: { readonly next_page_url: string | null };
}

/** The part of a list that was loaded. */
export interface Pages<T> extends Pick<Resource<unknown>, 'problem' | 'reload'> {
  /** Null before the first page. */
  readonly items: readonly T[] | null;
  readonly hasMore: boolean;
  /** Loads the next page. Resolves when that has succeeded or failed. */
  readonly more: () => Promise<void>;
}

export interface PagesOptions<T> {
  /** A new version says that the list has changed on the server: it is read again. */
  readonly version?: unknown;
  /** Whether an item changes by itself: the list is then read again from time to time. */
  readonly isMoving?: (item: T) => boolean;
  /** Whether the list is read again from time to time in any case. */
  readonly isLive?: boolean;
}

/**
 * Reads a list by pages. The first, `path`, is read when the component is shown and when `path`
 * changes. Nothing is read while `path` is null.
 */
export function usePages<T>(
  path: string | null,
  read: (path: string, signal: AbortSignal) => Promise<Page<T>>,
  { version, isMoving = () => false, isLive = false }: PagesOptions<T> = {},
): Pages<T> {
  const isMore = useRef(false);
  const readLoaded = async (signal: AbortSignal, known: Loaded<T> | null) => {
    const grown = async ({ items, next }: Loaded<T>): Promise<Loaded<T>> => {
      const { data, page_info } = await read(next!, signal);
      return { items: [...items, ...data], next: page_info.next_page_url };
    };
    if (isMore.current && known !== null && known.next !== null) return await grown(known);
    let loaded = await grown({ items: [], next: path });
    const wanted = known?.items.length ?? 0;
    while (loaded.next !== null && loaded.items.length < wanted) loaded = await grown(loaded);
    return loaded;
  };
  const { value, problem, reload } = useResource<Loaded<T>>(path, readLoaded, {
    version,
    isMoving: (loaded) => isLive || (loaded?.items.some(isMoving) ?? false),
  });
  const more = () => {
    isMore.current = true;
    const done = reload();
    isMore.current = false;
    return done;
  };
  return { items: value?.items ?? null, hasMore: (value?.next ?? null) !== null, problem, reload, more };
}

interface Loaded<T> {
  readonly items: readonly T[];
  /** The address of the next page; null behind the last. */
  readonly next: string | null;
}
