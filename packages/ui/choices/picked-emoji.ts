/** The emoji that this browser has picked, the newest first. */

const KEY = 'parley-emoji';
/** As many picks as say what a person usually takes. */
const KEPT = 60;
const USUAL = ['👍', '❤️', '😄'];

/** Remembers a pick. A browser that keeps nothing forgets it. */
export function notePicked(emoji: string): void {
  try {
    localStorage.setItem(KEY, JSON.stringify([emoji, ...picked()].slice(0, KEPT)));
  } catch {
    // The usual ones are offered again.
  }
}

/** Returns the emoji that were picked last, each once. */
export function recentEmoji(most = 16): readonly string[] {
  return [...new Set(picked())].slice(0, most);
}

/** Returns the three that are picked most, filled up with what most people take. */
export function usualEmoji(): readonly string[] {
  const counts = new Map<string, number>();
  for (const emoji of picked()) counts.set(emoji, (counts.get(emoji) ?? 0) + 1);
  const most = [...counts].sort(([, one], [, other]) => other - one).map(([emoji]) => emoji);
  return [...new Set([...most, ...USUAL])].slice(0, USUAL.length);
}

/** Checks the value, because other versions of the page share the storage. */
function picked(): readonly string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}
