/**
 * Returns whether a text contains one of the keywords as whole words, ignoring case
 * (docs/contract.md#participants). Scripts without spaces have no word boundaries: there a keyword
 * matches anywhere. The pattern is built once for each array.
 */
export function hasKeyword(text: string, keywords: readonly string[]): boolean {
  if (keywords.length === 0 || text === '') return false;
  let pattern = patterns.get(keywords);
  if (pattern === undefined) {
    pattern = patternOf(keywords);
    patterns.set(keywords, pattern);
  }
  return pattern.test(text.normalize());
}

const patterns = new WeakMap<readonly string[], RegExp>();

/** Returns the pattern, with each boundary once: V8 takes milliseconds for each large class. */
function patternOf(keywords: readonly string[]): RegExp {
  // Spaces around a keyword would separate it from its boundaries.
  const words = keywords.map((keyword) => keyword.normalize().trim()).filter((word) => word !== '');
  const alternatives = [...Map.groupBy(words, boundariesOf)].map(([boundaries, alike]) => {
    const [before, behind] = boundaries.split(' ');
    return `${before}(?:${alike.map(escaped).join('|')})${behind}`;
  });
  return new RegExp(alternatives.join('|') || NOTHING, 'iu');
}

/** Returns the patterns before and after a word, separated by a space. */
function boundariesOf(word: string): string {
  const before = STARTS_UNBOUNDED.test(word) ? '' : `(?<!${WORD})`;
  const behind = ENDS_UNBOUNDED.test(word) ? '' : `(?!${WORD})`;
  return `${before} ${behind}`;
}

const WORD = String.raw`[\p{L}\p{M}\p{N}_]`;
const NOTHING = '(?!)';

const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
const UNBOUNDED = `[${SCRIPTS.map((script) => `\\p{scx=${script}}`).join('')}]`;
const STARTS_UNBOUNDED = new RegExp(`^${UNBOUNDED}`, 'u');
const ENDS_UNBOUNDED = new RegExp(`${UNBOUNDED}$`, 'u');

function escaped(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
