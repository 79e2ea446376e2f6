import type { Client } from '@parley/client';
import type { List } from '@parley/protocol/lists.ts';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';

export interface Loaded<T> {
  /** Undefined until it was read. */
  readonly value: T | undefined;
  readonly problem: string;
  readonly reload: () => void;
}

/** Reads what is at a path, and reads it again by itself while it changes on the server. */
export function useLoaded<T>(path: string, isUnderWay: (value: T) => boolean = () => false): Loaded<T> {
  const { client } = useSignedIn();
  const [state, setState] = useState<{ readonly path: string; readonly value: T }>();
  const [problem, setProblem] = useState('');
  const newest = useRef(0);
  const load = useEvent((path: string) => {
    const turn = ++newest.current;
    read<T>(client, path).then(
      (value) => {
        if (turn !== newest.current) return;
        setState({ path, value });
        setProblem('');
      },
      (error: Error) => turn === newest.current && setProblem(error.message),
    );
  });
  useEffect(() => {
    setProblem('');
    load(path);
    return () => {
      newest.current += 1;
    };
  }, [path, load]);
  const reload = useCallback(() => load(path), [path, load]);
  const value = state?.path === path ? state.value : undefined;
  const isWaiting = value !== undefined && isUnderWay(value);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(reload, POLL_MS);
    return () => clearInterval(timer);
  }, [isWaiting, reload]);
  return { value, problem, reload };
}

const POLL_MS = 2_000;

/** `fetch` for a type that is not known here. */
function read<T>(client: Client, path: string): Promise<T> {
  return client.fetch<unknown>(path) as Promise<T>;
}

export interface LoadedList<T> extends Loaded<readonly T[]> {
  readonly hasMore: boolean;
  readonly loadMore: () => void;
}

/** Reads a list page by page. */
export function useLoadedList<T>(path: string, isUnderWay: (row: T) => boolean): LoadedList<T> {
  const { client } = useSignedIn();
  const first = useLoaded<List<T>>(path, ({ data }) => data.some(isUnderWay));
  const [more, setMore] = useState<{ readonly of: List<T>; readonly pages: readonly List<T>[] }>();
  const pages =
    first.value === undefined ? [] : [first.value, ...(more?.of === first.value ? more.pages : [])];
  const next = pages.at(-1)?.page_info.next_page_url ?? null;
  const [problem, setProblem] = useState('');
  const loadMore = useEvent(() => {
    const of = first.value;
    if (next === null || of === undefined) return;
    read<List<T>>(client, next).then(
      (page) => {
        setMore({ of, pages: [...pages.slice(1), page] });
        setProblem('');
      },
      (error: Error) => setProblem(error.message),
    );
  });
  return {
    value: first.value === undefined ? undefined : pages.flatMap(({ data }) => data),
    problem: first.problem || problem,
    reload: first.reload,
    hasMore: next !== null,
    loadMore,
  };
}

/** States from which a resource goes on by itself. */
const UNDER_WAY: ReadonlySet<unknown> = new Set(['queued', 'pending', 'running']);

export function isUnderWay(resource: { readonly [name: string]: unknown }): boolean {
  return UNDER_WAY.has(resource.status);
}
