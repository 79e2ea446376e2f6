/**
 * Returns the name of `names` that `text` is most likely a misspelling of, or undefined: at most
 * two edits away, ignoring case. One edit adds, removes or replaces a letter, or swaps two
 * neighbours. Nearly every word is two edits away from a short name, so for short names only
 * swapped letters and another case count.
 */
export function nearestName(text: string, names: readonly string[]): string | undefined {
  const upper = text.toUpperCase();
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const edits = editsBetween(upper, name.toUpperCase());
    const allowed = name.length >= LONG_NAME ? MAX_EDITS : sameLetters(upper, name.toUpperCase()) ? 1 : 0;
    if (edits > allowed || edits >= fewest) continue;
    nearest = name;
    fewest = edits;
  }
  return nearest;
}

const LONG_NAME = 8;
const MAX_EDITS = 2;

/** Returns the restricted Damerau-Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  // Names that differ more in length cannot be near: most variables fill no table.
  if (Math.abs(a.length - b.length) > MAX_EDITS) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let fewest = Math.min(above[j]! + 1, row[j - 1]! + 1, replaced);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) fewest = Math.min(fewest, before[j - 2]! + 1);
      row.push(fewest);
    }
    before = above;
    above = row;
  }
  return above[b.length]!;
}

function sameLetters(a: string, b: string): boolean {
  return [...a].sort().join('') === [...b].sort().join('');
}

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

/** Returns the name that the unknown `name` means: by a synonym, or correctly spelled. */
export function nameMeant(name: string, names: readonly string[]): string | undefined {
  const ours = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined;
  if (ours !== undefined && names.includes(ours)) return ours;
  // `include=sender` only lacks the brackets.
  return names.includes(`${name}[]`) ? `${name}[]` : nearestName(name, names);
}
