import { fold, isPlain, UNCOUNTED } from '@parley/protocol/folding.ts';

/** A folded word of a text, with its position. */
export interface Word {
  readonly text: string;
  /** The positions of adjacent words differ by one. */
  readonly position: number;
  /** UTF-16 units of the text; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

/** The parts of a folding that decide which words a text has. */
export interface Cutting {
  /** Returns a run, or a character of it, in the form for comparison. */
  readonly fold: (text: string) => string;
  /** Runs of letters and digits; `pairs` is one of a script without blanks, `emoji` an emoji. */
  readonly runs: RegExp;
  /** The characters of such a run, each with what composes with it. */
  readonly characters: RegExp;
}

/**
 * Returns the words of a text, in order: runs of letters and digits, folded. Scripts without blanks
 * between words give each pair of adjacent characters. A document also has the last character of a
 * run, so that one character is found as the prefix of a pair. Emoji are words.
 */
export function wordsOf(text: string, purpose: 'document' | 'query', cutting = PRESENT): Word[] {
  const words: Word[] = [];
  let position = 0;
  for (const { 0: run, index: start, groups } of text.matchAll(cutting.runs)) {
    const { pairs, emoji } = groups!;
    const characters = pairs === undefined ? [] : charactersOf(run, start, cutting);
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
    const pieces = emoji === undefined ? cutting.fold(run).match(PIECES) : [emoji];
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

function charactersOf(run: string, runStart: number, cutting: Cutting): Omit<Word, 'position'>[] {
  const characters: Omit<Word, 'position'>[] = [];
  let start = runStart;
  for (const original of run.match(cutting.characters) ?? []) {
    const end = start + original.length;
    for (const text of cutting.fold(original)) if (IN_WORDS.test(text)) characters.push({ text, start, end });
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

/** The beginning of each word, up to `MAX_WORD` characters. */
const PLAIN_WORDS = new RegExp(`(?<![a-z0-9])[a-z0-9]{1,${MAX_WORD}}`, 'g');

const NO_BLANKS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{scx=${script}}`)
  .join('');
/** Class of letters and marks of these scripts. `scx` also has punctuation that they share. */
const PAIRED = `[[${NO_BLANKS}]&&[\\p{L}\\p{M}\\p{Nl}ー]]`;
const IN_WORDS = /^[\p{L}\p{N}\p{M}]$/u;
const PIECES = /[\p{L}\p{N}\p{M}]+/gu;
const OF_PAIRS = new RegExp(`^${PAIRED}`, 'v');

/**
 * Returns the pattern of runs, in which `uncounted`, the inside of a class, belongs to any script.
 */
export function runsWith(uncounted: string): RegExp {
  const paired = uncounted === '' ? PAIRED : `[${PAIRED}--[${uncounted}]]`;
  const pairs = `${paired}[${paired}\\u3099\\u309a${uncounted}]*`;
  const emoji = '[\\p{Extended_Pictographic}--[\\p{L}\\p{N}]]';
  const letters = '\\p{L}\\p{N}\\p{M}';
  const others = `[[${letters}]--${paired}][[${letters}${uncounted}]--${paired}]*`;
  return new RegExp(`(?<pairs>${pairs})|(?<emoji>${emoji})|${others}`, 'gv');
}

// Letters of Hangul that compose to a syllable, also those of halfwidth and of compatibility.
const LEADING = String.raw`[\u1100-\u115f\ua960-\ua97c\u3131-\u314e\uffa1-\uffbe]`;
const VOWEL = String.raw`[\u1160-\u11a7\ud7b0-\ud7c6\u314f-\u3163\uffc2-\uffdc]`;
const TRAILING = String.raw`[\u11a8-\u11ff\ud7cb-\ud7fb]`;
const MARKS_OF_KANA = String.raw`[\u3099\u309a\uff9e\uff9f]`;
/** What belongs to the character before it: a Burmese vowel composes too. */
const FOLLOWING = [
  `[${UNCOUNTED}]`,
  `${VOWEL}(?<=${LEADING}[${UNCOUNTED}]*.)`,
  `${TRAILING}(?<=(?:${VOWEL}|[\\uac00-\\ud7a3])[${UNCOUNTED}]*.)`,
  MARKS_OF_KANA,
  `\\u102e(?<=\\u1025[${UNCOUNTED}]*.)`,
].join('|');
const MAY_FOLLOW = `[[${UNCOUNTED}\\u102e]${VOWEL}${TRAILING}${MARKS_OF_KANA}]`;

/** Cuts words by the present folding (FOLDING of the protocol). */
const PRESENT: Cutting = {
  fold,
  runs: runsWith(UNCOUNTED),
  characters: new RegExp(`.(?:(?=${MAY_FOLLOW})(?:${FOLLOWING}))*`, 'gsv'),
};
