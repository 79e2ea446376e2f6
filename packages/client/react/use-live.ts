import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Client } from '../client.ts';
import { notWithNextFrame, withNextFrame } from './frames.ts';
import { type Live, LivePool, type Opened } from './live-pool.ts';
import { NotedReads, type Showing } from './noted-reads.ts';
import { useClient } from './provider.ts';

/** The object that a hook shows: its key, how it is opened, and the snapshot before. */
export interface Shown<Snapshot extends object, Object extends Live<Snapshot>> {
  /** Components with the same key share the object. Null shows none. */
  readonly key: string | null;
  readonly open: (client: Client, pool: LivePool) => Opened<Object>;
  /** The snapshot until the component is mounted, and on a server; always the same object. */
  readonly before: Snapshot;
}

/**
 * Follows a live object while the component is mounted. A change renders the component, with the
 * next frame, only if the component has read what changed.
 */
export function useLive<Snapshot extends object, Object extends Live<Snapshot>>({
  key,
  open,
  before,
}: Shown<Snapshot, Object>): Showing<Snapshot, Object> {
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
    return [live, live?.snapshot ?? before] as const;
  };
  return useSyncExternalStore(subscribe, reads.during(now), () => reads.show(undefined, before));
}
