import type { Phrase } from './query.ts';
import { isOfPairs, isPlain, type Word, wordsOf } from './words.ts';

type WantedWord = Phrase['words'][number];

/** A text to compare with a query. */
export interface Field<Name extends string = string> {
  readonly name: Name;
  readonly text: string;
}

/** The ranges of a query's words in a text: UTF-16 units, in order, without overlaps. */
export interface Found<F extends Field = Field> {
  readonly field: F;
  readonly ranges: readonly Range[];
}

export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Match<F extends Field = Field> {
  readonly found: readonly Found<F>[];
  /** The quality of the match, regardless of age. */
  readonly weight: number;
}

/** Returns undefined unless each phrase occurs in one of the texts. */
export function matchFields<F extends Field>(
  phrases: readonly Phrase[],
  fields: readonly F[],
): Match<F> | undefined {
  const texts = fields.map((field) => ({ field, words: new WordIndex(field.text), ranges: [] as Range[] }));
  let weight = 0;
  for (const phrase of phrases) {
    let best = 0;
    let times = 0;
    for (const { words, ranges } of texts) {
      for (const { isWhole, range } of words.find(phrase)) {
        if (ranges.length < MAX_RANGES) ranges.push(range);
        best = Math.max(best, isWhole ? WHOLE : BEGINNING);
        times++;
      }
    }
    if (times === 0) return undefined;
    weight += best + Math.min(times - 1, MAX_REPEATS) * REPEATED + (phrase.words.length - 1) * LONGER;
  }
  const found = texts.flatMap(({ field, ranges }) =>
    ranges.length === 0 ? [] : [{ field, ranges: joined(ranges) }],
  );
  if (
    phrases.length > 1 &&
    found.some(({ ranges, field }) => isTogether(ranges, field.text, phrases.length))
  ) {
    weight += TOGETHER;
  }
  return { found, weight };
}

/** The words of one text, which are computed on first use. */
class WordIndex {
  readonly #text: string;
  readonly #lowered: string | undefined;
  #words: readonly Word[] | undefined;
  readonly #byText = new Map<string, Word[]>();
  readonly #byCharacter = new Map<string, Word[]>();
  readonly #byPosition: Word[] = [];

  constructor(text: string) {
    this.#text = text;
    this.#lowered = isPlain(text) ? text.toLowerCase() : undefined;
  }

  find(phrase: Phrase): { isWhole: boolean; range: Range }[] {
    const [first, ...others] = phrase.words;
    if (this.#lacks(phrase)) return [];
    const found: { isWhole: boolean; range: Range }[] = [];
    for (const word of this.#those(first!)) {
      let end = this.#endOf(word, first!.text);
      let isWhole = word.text === first!.text;
      const isThere = others.every((wanted) => {
        const next = this.#byPosition[word.position + wanted.offset];
        if (next === undefined || !isWanted(next, wanted)) return false;
        isWhole &&= next.text === wanted.text;
        end = Math.max(end, this.#endOf(next, wanted.text));
        return true;
      });
      if (isThere) found.push({ isWhole, range: { start: word.start, end } });
      if (found.length === MAX_RANGES) break;
    }
    return found;
  }

  /** Rejects most texts cheaply. */
  #lacks({ words }: Phrase): boolean {
    const lowered = this.#lowered;
    return lowered !== undefined && words.some(({ text }) => !lowered.includes(text));
  }

  #read(): readonly Word[] {
    if (this.#words !== undefined) return this.#words;
    this.#words = wordsOf(this.#text, 'document');
    for (const word of this.#words) {
      add(this.#byText, word.text, word);
      add(this.#byCharacter, firstCharacterOf(word.text), word);
      this.#byPosition[word.position] = word;
    }
    return this.#words;
  }

  #those(wanted: WantedWord): readonly Word[] {
    this.#read();
    if (!wanted.isPrefix) return this.#byText.get(wanted.text) ?? [];
    const candidates = this.#byCharacter.get(firstCharacterOf(wanted.text)) ?? [];
    return candidates.filter((word) => isWanted(word, wanted));
  }

  /** If one character of a script without blanks is found in a pair, only it is marked. */
  #endOf(word: Word, wanted: string): number {
    const isOne = word.text !== wanted && isOfPairs(word.text);
    return isOne ? (this.#byPosition[word.position + 1]?.start ?? word.end) : word.end;
  }
}

function isWanted({ text }: Word, wanted: WantedWord): boolean {
  return wanted.isPrefix ? text.startsWith(wanted.text) : text === wanted.text;
}

function firstCharacterOf(text: string): string {
  return String.fromCodePoint(text.codePointAt(0)!);
}

function add(index: Map<string, Word[]>, key: string, word: Word): void {
  const same = index.get(key);
  if (same === undefined) index.set(key, [word]);
  else same.push(word);
}

function joined(ranges: readonly Range[]): Range[] {
  const result: { start: number; end: number }[] = [];
  for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

/** Returns whether the parts of the query are near each other. */
function isTogether(ranges: readonly Range[], text: string, parts: number): boolean {
  return ranges.some(({ start }, index) => {
    const last = ranges[index + parts - 1];
    return last !== undefined && last.end - start <= Math.min(text.length, parts * NEAR);
  });
}

const WHOLE = 3;
const BEGINNING = 2;
const REPEATED = 0.2;
const MAX_REPEATS = 5;
const LONGER = 0.5;
const TOGETHER = 1;
/** Characters for each part. */
const NEAR = 16;
const MAX_RANGES = 50;
