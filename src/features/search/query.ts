import { EARLIER } from './earlier-words.ts';
import { type Cutting, isOfPairs, wordsOf } from './words.ts';

/** A part of a query: adjacent words. */
export type Phrase = readonly WantedWord[];

interface WantedWord {
  readonly text: string;
  /** Positions after the first word of the phrase. */
  readonly offset: number;
  /** Whether longer words that begin with it match too. */
  readonly isPrefix: boolean;
}

/**
 * Returns the parts that a message must all have; none if the text has no letter and no digit. Text
 * between quotation marks is one part, and so is text between blanks, such as an address or a run
 * of a script without blanks. The last word may be the prefix of a longer word, unless a blank or a
 * quotation mark ends it.
 */
export function parseQuery(text: string, cutting?: Cutting): Phrase[] {
  const parts = [...text.replace(QUOTATION_MARKS, '"').matchAll(PARTS)];
  const phrases = parts.map(({ groups, index, 0: all }) => {
    const isOpen = groups!.quoted === undefined && index + all.length === text.length;
    return phraseOf(groups!.quoted ?? all, isOpen, cutting);
  });
  return phrases.filter((phrase) => phrase.length > 0);
}

/**
 * Returns the parts by the words of entries with the earlier folding; none where they are the same.
 */
export function parseEarlierQuery(text: string): Phrase[] {
  const earlier = parseQuery(text, EARLIER);
  return JSON.stringify(earlier) === JSON.stringify(parseQuery(text)) ? [] : earlier;
}

function phraseOf(phrase: string, isOpen: boolean, cutting: Cutting | undefined): Phrase {
  const words = wordsOf(phrase, 'query', cutting);
  return words.map(({ text, position }, index) => ({
    text,
    offset: position,
    isPrefix: isOfPairs(text)
      ? [...text].length === 1
      : isOpen && index === words.length - 1 && text.length >= MIN_PREFIX,
  }));
}

// U+FEFF is no blank here: it is not seen.
const PARTS = /"(?<quoted>[^"]+)"|[\S\ufeff]+?(?="|[^\S\ufeff]|$)/gu;
const QUOTATION_MARKS = /[“”„«»]/g;
/** Shortest prefix: a single letter would begin too many words. */
const MIN_PREFIX = 2;
