/** Returns the text in a form that Postgres can store. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Returns the first code points of a text, without splitting a surrogate pair. */
export function cutTo(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return [...text.slice(0, 2 * characters)].slice(0, characters).join('');
}

/**
 * Returns Message-IDs as a row keeps them: the beginning and the end of a chain that is too long.
 */
export function boundedIds(ids: readonly string[]): string[] {
  const bounded = [...ids.slice(0, MAX_IDS), ...ids.slice(MAX_IDS).slice(-MAX_IDS)];
  return bounded.map((id) => storable(cutTo(id, MAX_ID_CHARACTERS)));
}

const MAX_IDS = 50;
const MAX_ID_CHARACTERS = 998;
