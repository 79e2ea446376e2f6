import { isOfPairs, wordsOf } from './words.ts';

/** A part of a query: adjacent words. */
export interface Phrase {
  readonly words: readonly WantedWord[];
}

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
 * of a script without blanks. The last word may be the prefix of a longer one, unless a blank or a
 * quotation mark ends it.
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
 * Returns a tsquery for blocks that may have a match. It has only the longest words of a long
 * query, because they narrow most; every word is compared with the message later.
 */
export function indexQuery(
  phrases: readonly Phrase[],
  lexemeOf: (word: string) => string,
  further: readonly string[] = [],
): string {
  const words = new Map<string, string>();
  for (const { text, isPrefix } of phrases.flatMap((phrase) => phrase.words)) {
    words.set(text, `${quoted(lexemeOf(text))}${isPrefix ? ':*' : ''}`);
  }
  const longest = [...words].sort(([a], [b]) => b.length - a.length).slice(0, MAX_INDEX_WORDS);
  return [...longest.map(([, condition]) => condition), ...further].join(' & ');
}

/**
 * The entries of a block (search_blocks.terms). Words begin with the end of the account's id, so
 * that a query reads no postings of other accounts. Only the row decides which account a block
 * belongs to.
 */
export interface Lexemes {
  /** A word of a message. */
  word(text: string): string;
  /** A word of a conversation's title, or of the name or address of a member. */
  name(text: string): string;
  /** The conversation of the block. */
  conversation(id: string): string;
  /** The author of a message of the block, or the actor whose name it is shown under. */
  author(id: string): string;
  /** Marks blocks with a message that has an attached file. */
  readonly file: string;
}

export function lexemesOf(accountId: string): Lexemes {
  const code = accountId.slice(-CODE_LENGTH);
  return {
    word: (text) => `${code}:${text}`,
    name: (text) => `${code}^${text}`,
    conversation: (id) => `#${id}`,
    author: (id) => `@${id}`,
    file: `${code}%`,
  };
}

/** Returns a lexeme in the text form of a tsvector or a tsquery. */
export function quoted(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** Returns a condition that one of the lexemes fulfils. */
export function anyOf(lexemes: readonly string[]): string {
  return `(${lexemes.map(quoted).join(' | ')})`;
}

const PARTS = /"(?<quoted>[^"]+)"|\S+?(?="|\s|$)/gu;
const QUOTATION_MARKS = /[“”„«»]/g;
/** A single letter would be the prefix of too many words. */
const MIN_PREFIX = 2;
const MAX_INDEX_WORDS = 16;
const CODE_LENGTH = 6;
