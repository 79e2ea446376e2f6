/** Returns the text in a form that Postgres can store. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Returns the first code points of a text, without splitting a surrogate pair. */
export function cutTo(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return [...text.slice(0, 2 * characters)].slice(0, characters).join('');
}
