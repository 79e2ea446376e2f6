import { nearestName } from './nearest-name.ts';

/** What other messaging APIs call our fields and parameters: their name → ours. */
const SYNONYMS: Readonly<Record<string, string>> = {
  text: 'body',
  content: 'body',
  message: 'body',
  'expand[]': 'include[]',
  expand: 'include[]',
  page_size: 'limit',
  per_page: 'limit',
};

/** Returns the name of `names` that a caller meant by the unknown `name`: ours for its word, or the correct spelling. */
export function nameMeant(name: string, names: readonly string[]): string | undefined {
  const ours = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined;
  if (ours !== undefined && names.includes(ours)) return ours;
  // `include=sender` lacks the brackets alone.
  return names.includes(`${name}[]`) ? `${name}[]` : nearestName(name, names);
}
