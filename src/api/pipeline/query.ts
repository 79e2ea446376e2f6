import { ApiError } from '@parley/protocol/errors/errors.ts';
import { isCleanText } from '@parley/protocol/validation/validation.ts';

/** A list for names that end in `[]`, or that are repeated, which no schema accepts. */
export type RawQuery = Record<string, string | string[]>;

/**
 * Reads the URL after the `?`. Throws ApiError `parameter_invalid` for text that is not
 * percent-encoded UTF-8 or that Postgres cannot store.
 */
export function parseQuery(text: string): RawQuery {
  const query: RawQuery = Object.create(null);
  if (text === '') return query;
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decode(at === -1 ? pair : pair.slice(0, at), null);
    const value = at === -1 ? '' : decode(pair.slice(at + 1), name);
    add(query, name, value);
  }
  return query;
}

function add(query: RawQuery, name: string, value: string): void {
  const earlier = query[name];
  if (Array.isArray(earlier)) earlier.push(value);
  else if (name.endsWith('[]')) query[name] = [value];
  else if (earlier === undefined) query[name] = value;
  else query[name] = [earlier, value];
}

function decode(text: string, param: string | null): string {
  if (PLAIN.test(text)) return text;
  const decoded = decodeText(text.replaceAll('+', ' '));
  if (decoded === undefined) {
    throw new ApiError('parameter_invalid', 'Must be percent-encoded UTF-8 text.', { param });
  }
  return decoded;
}

/** Most names and values match. */
const PLAIN = /^[\w.~-]*$/;

/** Returns undefined for text that is not percent-encoded UTF-8, or not storable as text. */
export function decodeText(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text);
    return isCleanText(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}
