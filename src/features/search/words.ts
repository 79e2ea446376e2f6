/** A folded word of a text, with its position. */
export interface Word {
  readonly text: string;
  /** The positions of adjacent words differ by one. */
  readonly position: number;
  /** UTF-16 units of the text; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the words of a text, in order: runs of letters and digits, without case, marks and
 * variants of form. Scripts without blanks between words give each pair of adjacent characters. A
 * document also has the last character of a run, so that one character is found as the prefix of a
 * pair. Emoji are words.
 */
export function wordsOf(text: string, purpose: 'document' | 'query'): Word[] {
  const words: Word[] = [];
  let position = 0;
  for (const { 0: run, index: start, groups } of text.matchAll(RUNS)) {
    const { pairs, emoji } = groups!;
    const characters = pairs === undefined ? [] : charactersOf(run, start);
    for (const [index, character] of characters.entries()) {
      const next = characters[index + 1];
      if (next !== undefined) {
        words.push({ ...character, text: character.text + next.text, end: next.end, position });
      } else if (purpose === 'document' || index === 0) {
        words.push({ ...character, position });
      }
      position++;
    }
    if (pairs !== undefined) continue;
    const pieces = emoji === undefined ? fold(run).match(PIECES) : [emoji];
    for (const piece of pieces ?? []) {
      words.push({ text: piece.slice(0, MAX_WORD), position: position++, start, end: start + run.length });
    }
  }
  return words;
}

/** Returns the words of a document without their positions. */
export function documentWords(text: string): readonly string[] {
  // Most texts are plain: these steps allocate a quarter of the others' memory.
  if (isPlain(text)) return text.toLowerCase().match(PLAIN_WORDS) ?? [];
  return wordsOf(text, 'document').map((word) => word.text);
}

/** Returns the text in the form for comparison: NFKC, without case and without marks on letters. */
function fold(text: string): string {
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

function charactersOf(run: string, runStart: number): Omit<Word, 'position'>[] {
  const characters: Omit<Word, 'position'>[] = [];
  let start = runStart;
  for (const original of run.match(CHARACTERS) ?? []) {
    const end = start + original.length;
    for (const text of fold(original)) characters.push({ text, start, end });
    start = end;
  }
  return characters;
}

/** Returns whether a word belongs to a script without blanks. */
export function isOfPairs(word: string): boolean {
  return OF_PAIRS.test(word);
}

/** Length at which longer words are cut. */
const MAX_WORD = 64;

/** Returns whether the text is plain ASCII. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/** The beginning of each word, up to `MAX_WORD` characters. */
const PLAIN_WORDS = new RegExp(`(?<![a-z0-9])[a-z0-9]{1,${MAX_WORD}}`, 'g');
const PLAIN = /^[\t\r\n\x20-\x7e]*$/;

/**
 * Marks of Latin, Greek, Cyrillic, Hebrew and Arabic letters, which readers omit. Marks of other
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
