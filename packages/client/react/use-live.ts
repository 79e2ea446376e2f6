import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Client } from '../client.ts';
import { notWithNextFrame, withNextFrame } from './frames.ts';
import { type Live, LivePool, type Opened } from './live-pool.ts';
import { NotedReads, type Showing } from './noted-reads.ts';
import { useClient } from './provider.ts';
import { selection } from './selection.ts';

/** The object that a hook shows: its key, how it is opened, and the snapshot before. */
export interface Shown<Snapshot extends object, Object extends Live<Snapshot>, Selected> {
  /** Components with the same key share the object. Null shows none. */
  readonly key: string | null;
  readonly open: (client: Client, pool: LivePool) => Opened<Object>;
  /** The snapshot until the component is mounted, and on a server; always the same object. */
  readonly before: Snapshot;
  /** Returns whether a snapshot has nothing yet, so that `before` is shown instead. */
  readonly isEmpty?: ((snapshot: Snapshot) => boolean) | undefined;
  /** Returns what the component shows; without it, the component gets the whole. */
  readonly select?: ((showing: Showing<Snapshot, Object>) => Selected) | undefined;
}

/**
 * Follows a live object while the component is mounted. A change renders the component, with the
 * next frame, only if the component has read what changed, and selects something else of it.
 */
export function useLive<
  Snapshot extends object,
  Object extends Live<Snapshot>,
  Selected = Showing<Snapshot, Object>,
>({ key, open, before, isEmpty, select }: Shown<Snapshot, Object, Selected>): Selected {
  const client = useClient();
  const [reads] = useState(() => new NotedReads<Snapshot, Object>());
  const opening = useRef(open);
  const [turn, setTurn] = useState(0);
  // Effects run in order, so `subscribe` gets the `open` of the same render.
  useEffect(() => {
    opening.current = open;
  }, [open]);
  const subscribe = useCallback(
    (render: () => void) => {
      if (client === null || key === null) return () => {};
      const pool = LivePool.of(client);
      const { live, close } = pool.acquire(
        key,
        () => opening.current(client, pool),
        () => setTurn((last) => last + 1),
      );
      // `live` exists from here on. Unlike React, Preact looks before it subscribes, and not after.
      withNextFrame(render);
      const stop = live.on('change', ({ what }) => {
        if (reads.has(what)) withNextFrame(render);
      });
      return () => {
        stop();
        notWithNextFrame(render);
        close();
      };
    },
    [client, key, reads, turn],
  );
  const now = () => {
    const isOpen = client !== null && key !== null;
    const live = isOpen ? (LivePool.of(client).peek(key) as Object | undefined) : undefined;
    const snapshot = live?.snapshot;
    return [live, snapshot === undefined || isEmpty?.(snapshot) ? before : snapshot] as const;
  };
  const [kept] = useState(selection<Selected>);
  const selecting = (show: () => Showing<Snapshot, Object>) => () =>
    select === undefined ? (show() as Selected) : kept(select(show()));
  return useSyncExternalStore(
    subscribe,
    selecting(reads.during(now)),
    selecting(() => reads.show(undefined, before)),
  );
}
