import { hasHidden } from '@parley/ui/data/json-text.ts';

export interface SplitArguments {
  /** The texts of several lines, by the name of their field. */
  readonly texts: readonly { readonly name: string; readonly text: string }[];
  /** The arguments without these texts; undefined if nothing is left. */
  readonly rest: unknown;
}

/**
 * Splits arguments into texts to read and the rest. A text with characters that cannot be seen
 * stays in the rest, which shows them.
 */
export function splitArguments(value: unknown, name = ''): SplitArguments {
  if (typeof value === 'string' && name !== '' && value.includes('\n') && !hasHidden(value)) {
    return { texts: [{ name, text: value }], rest: undefined };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { texts: [], rest: value };
  const parts = Object.entries(value).map(([key, one]) => [key, splitArguments(one, key)] as const);
  const texts = parts.flatMap(([, part]) => part.texts);
  if (texts.length === 0) return { texts, rest: value };
  const left = parts.flatMap(([key, { rest }]) => (rest === undefined ? [] : [[key, rest] as const]));
  return { texts, rest: left.length === 0 ? undefined : Object.fromEntries(left) };
}

/** Returns whether a number in it may have lost digits, since no double is equal to it. */
export function hasLongNumber(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLongNumber);
}
