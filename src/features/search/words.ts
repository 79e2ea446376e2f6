/** A folded word of a text, with its position. */
export interface Word {
  readonly text: string;
  /** The positions of adjacent words differ by one. */
  readonly position: number;
  /** UTF-16 units of the text; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

/** `document` adds words that make single characters findable in scripts without blanks. */
type Purpose = 'document' | 'query';

/**
 * Returns the words of a text, in order: runs of letters and digits, without case, marks and
 * variants of form. Scripts without blanks between words give each pair of adjacent characters. A
 * document also has the last character of a run, so that one character is found as the prefix of a
 * pair. Emoji are words.
 */
export function wordsOf(text: string, purpose: Purpose): Word[] {
  const words: Word[] = [];
  let position = 0;
  for (const run of text.matchAll(RUNS)) {
    const start = run.index;
    const { pairs, emoji } = run.groups!;
    if (pairs !== undefined) {
      const characters = charactersOf(pairs, start);
      addPairs(words, characters, position, purpose);
      position += characters.length;
    } else if (emoji !== undefined) {
      words.push({ text: emoji, position: position++, start, end: start + run[0].length });
    } else {
      for (const piece of fold(run[0]).match(PIECES) ?? []) {
        const place = { position: position++, start, end: start + run[0].length };
        words.push({ text: piece.slice(0, MAX_WORD), ...place });
      }
    }
  }
  return words;
}

/** Returns the text in the form for comparison: NFKC, without case and without marks on letters. */
export function fold(text: string): string {
  if (isPlain(text)) return text.toLowerCase();
  return (
    text
      .normalize('NFKC')
      // Upper case first, so that ß becomes ss.
      .toUpperCase()
      .toLowerCase()
      .normalize('NFD')
      .replace(MARKS, '')
      .replaceAll('ς', 'σ')
      .normalize('NFC')
  );
}

interface Character {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function charactersOf(run: string, start: number): Character[] {
  const characters: Character[] = [];
  let at = start;
  for (const original of run.match(CHARACTERS) ?? []) {
    const end = at + original.length;
    for (const text of fold(original)) characters.push({ text, start: at, end });
    at = end;
  }
  return characters;
}

function addPairs(words: Word[], characters: readonly Character[], position: number, purpose: Purpose): void {
  for (const [index, { text, start, end }] of characters.entries()) {
    const next = characters[index + 1];
    if (next !== undefined) {
      words.push({ text: text + next.text, position: position + index, start, end: next.end });
    } else if (purpose === 'document' || characters.length === 1) {
      words.push({ text, position: position + index, start, end });
    }
  }
}

/** Returns whether a word belongs to a script without blanks. */
export function isOfPairs(word: string): boolean {
  return OF_PAIRS.test(word);
}

/** Longer words are found by this many characters. */
const MAX_WORD = 64;

/** Returns whether the text is plain ASCII. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

const PLAIN = /^[\t\r\n\x20-\x7e]*$/;

/**
 * Marks of Latin, Greek, Cyrillic, Hebrew and Arabic letters, which readers omit. Those of other
 * scripts are vowels.
 */
const MARKS =
  /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]|[\u0591-\u05c7]|[\u0610-\u061a\u064b-\u065f]|\u0670|\ufe0e|\ufe0f/g;

const NO_BLANKS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{scx=${script}}`)
  .join('');
/** Letters, digits and marks of these scripts. `scx` also has punctuation that they share. */
const PAIRED = `(?=[\\p{L}\\p{M}\\p{Nl}ー])[${NO_BLANKS}]`;
const RUNS = new RegExp(
  `(?<pairs>(?:${PAIRED})(?:${PAIRED}|[\\u3099\\u309a])*)|(?<emoji>(?![\\p{L}\\p{N}])\\p{Extended_Pictographic})|(?:(?!${PAIRED})[\\p{L}\\p{N}\\p{M}])+`,
  'gu',
);
/** A character with the marks that compose with it, such as a half-width kana's voice mark. */
const CHARACTERS = /.[\u3099\u309a\uff9e\uff9f]*/gsu;
const PIECES = /[\p{L}\p{N}\p{M}]+/gu;
const OF_PAIRS = new RegExp(`^(?:${PAIRED})`, 'u');
