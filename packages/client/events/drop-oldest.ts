/** Drops the oldest entry of a map or set that has more than so many. */
export function dropOldest<K>(
  entries: { readonly size: number; keys(): IterableIterator<K>; delete(key: K): boolean },
  most: number,
): void {
  if (entries.size > most) entries.delete(entries.keys().next().value!);
}
