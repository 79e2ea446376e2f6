let listed: readonly string[] = [];

/** Says which conversations the list shows, in their order. */
export function setListed(ids: readonly string[]): void {
  listed = ids;
}

/**
 * Returns the conversation that follows in the list, or before the end the one above; null for
 * none.
 */
export function neighbourOf(id: string): string | null {
  const at = listed.indexOf(id);
  if (at === -1) return listed[0] ?? null;
  return listed[at + 1] ?? listed[at - 1] ?? null;
}
