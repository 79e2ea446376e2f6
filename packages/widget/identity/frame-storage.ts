/** Storage of the frame, which browsers keep apart for each site that embeds it. */
export type FrameStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Returns the storage of the frame; one in memory where the browser gives none. */
export function frameStorage(name: 'localStorage' | 'sessionStorage'): FrameStorage {
  try {
    const storage = window[name];
    const probe = 'parley-probe';
    storage.setItem(probe, '');
    storage.removeItem(probe);
    return storage;
  } catch {
    const kept = new Map<string, string>();
    return {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: (key) => void kept.delete(key),
    };
  }
}
