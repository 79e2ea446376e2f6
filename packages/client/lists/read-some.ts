/**
 * Calls `read` with a hundred of the wanted ids, if there are any; it removes those that it has
 * read. Resolves with whether any are left.
 */
export async function readSome(
  wanted: ReadonlySet<string>,
  read: (ids: readonly string[]) => Promise<void>,
): Promise<boolean> {
  const ids = [...wanted].slice(0, MOST_A_READ);
  if (ids.length > 0) await read(ids);
  return wanted.size > 0;
}

export const MOST_A_READ = 100;
