/** Returns text of a mail as Postgres can store it. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Returns the beginning of a text, counted as code points, so that no surrogate pair is split. */
export function cutTo(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return [...text.slice(0, 2 * characters)].slice(0, characters).join('');
}

/**
 * Returns Message-IDs as a row keeps them: of a chain that is too long, the beginning and the end.
 */
export function boundedIds(ids: readonly string[]): string[] {
  const bounded = [...ids.slice(0, MAX_IDS), ...ids.slice(MAX_IDS).slice(-MAX_IDS)];
  return bounded.map((id) => storable(cutTo(id, MAX_ID_CHARACTERS)));
}

const MAX_IDS = 50;
const MAX_ID_CHARACTERS = 998;
