import { nearestName } from './nearest-name.ts';

/** Names that other messaging APIs use for our fields and parameters, mapped to ours. */
const SYNONYMS: Readonly<Record<string, string>> = {
  text: 'body',
  content: 'body',
  message: 'body',
  'expand[]': 'include[]',
  expand: 'include[]',
  page_size: 'limit',
  per_page: 'limit',
};

/**
 * Returns the name of `names` that a caller meant by the unknown `name`: our word for its synonym,
 * or the correct spelling.
 */
export function nameMeant(name: string, names: readonly string[]): string | undefined {
  const ours = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined;
  if (ours !== undefined && names.includes(ours)) return ours;
  // `include=sender` only lacks the brackets.
  return names.includes(`${name}[]`) ? `${name}[]` : nearestName(name, names);
}
