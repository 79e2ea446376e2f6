import { type Lexemes, quoted } from './lexemes.ts';
import { isOfPairs, wordsOf } from './words.ts';

/** A part of a query: words that stand side by side. */
export interface Phrase {
  readonly words: readonly WantedWord[];
}

interface WantedWord {
  readonly text: string;
  /** Places behind the first word of the phrase. */
  readonly offset: number;
  /** Words that begin with it count too. */
  readonly isPrefix: boolean;
}

/**
 * Returns the parts that a message must all have; none where the text has no letter and no digit.
 * What stands between quotation marks is one part, and so is what stands between blanks, such as an
 * address or a run of a script without blanks. The last word may be the beginning of a longer one,
 * unless a blank or a quotation mark ends it.
 */
export function parseQuery(text: string): Phrase[] {
  const phrases: Phrase[] = [];
  for (const { groups, index, 0: all } of text.replace(QUOTATION_MARKS, '"').matchAll(PARTS)) {
    const isOpen = groups!.quoted === undefined && index + all.length === text.length;
    const phrase = phraseOf(groups!.quoted ?? all, isOpen);
    if (phrase !== undefined) phrases.push(phrase);
  }
  return phrases;
}

function phraseOf(text: string, isOpen: boolean): Phrase | undefined {
  const words = wordsOf(text, 'query');
  const [first] = words;
  if (first === undefined) return undefined;
  return {
    words: words.map(({ text, position }, index) => ({
      text,
      offset: position - first.position,
      isPrefix: isOfPairs(text)
        ? [...text].length === 1
        : isOpen && index === words.length - 1 && text.length >= MIN_PREFIX,
    })),
  };
}

/**
 * Returns the condition of the index as a tsquery: blocks that fulfil it may have a match. The
 * longest words narrow most, so a long query asks for those alone; every word is compared with the
 * message.
 */
export function indexQuery(
  phrases: readonly Phrase[],
  kind: 'word' | 'name',
  lexemes: Lexemes,
  further: readonly string[] = [],
): string {
  const words = new Map<string, string>();
  for (const { text, isPrefix } of phrases.flatMap((phrase) => phrase.words)) {
    words.set(text, `${quoted(lexemes[kind](text))}${isPrefix ? ':*' : ''}`);
  }
  const longest = [...words].sort(([a], [b]) => b.length - a.length).slice(0, MAX_INDEX_WORDS);
  return [...longest.map(([, condition]) => condition), ...further].join(' & ');
}

/** One of several lexemes. */
export function anyOf(lexemes: readonly string[]): string {
  return `(${lexemes.map(quoted).join(' | ')})`;
}

const PARTS = /"(?<quoted>[^"]+)"|\S+?(?="|\s|$)/gu;
const QUOTATION_MARKS = /[“”„«»]/g;
/** A single letter begins too many words. */
const MIN_PREFIX = 2;
const MAX_INDEX_WORDS = 16;
