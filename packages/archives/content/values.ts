/** Reads values of parsed JSON that may be of any type. */

export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = {};

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the object, or one without fields. */
export function fields(value: unknown): Fields {
  return isFields(value) ? value : NONE;
}

/** Returns the list, or an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the text, or null for another type and for the empty text. */
export function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Returns the values by their keys, in their order: `Map.groupBy`, which Node 20 does not have. */
export function groupBy<Key, Value>(
  values: Iterable<Value>,
  keyOf: (value: Value) => Key,
): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
}

export function flag(value: unknown): boolean {
  return value === true;
}

/** Returns the whole number, or null. `idOf` reads ids, which may be numbers or text. */
export function whole(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/**
 * Returns an id as text. Null if it is neither a whole number nor text of 1 to 200 characters
 * without control characters.
 */
export function idOf(value: unknown): string | null {
  if (typeof value === 'number') return whole(value)?.toString() ?? null;
  return typeof value === 'string' && ID.test(value) && value.isWellFormed() ? value : null;
}

const ID = /^[^\p{Cc}]{1,200}$/u;

/** Returns a content type such as `image/png`, or null for other values. */
export function contentType(value: unknown): string | null {
  return typeof value === 'string' && CONTENT_TYPE.test(value) ? value.toLowerCase() : null;
}

const CONTENT_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/;
