import type { SearchHighlight } from '../../contract/protocol/resources/search-hit.ts';
import type { Phrase } from './query.ts';
import { isOfPairs, isPlain, type Word, wordsOf } from './words.ts';

type WantedWord = Phrase['words'][number];

/** A text of a message or a conversation, with the member if it is a name. */
export interface Field {
  readonly name: SearchHighlight['field'];
  readonly text: string;
  readonly actorId: string | null;
}

/** The ranges of a query's words in a text: UTF-16 units, in order, without overlaps. */
export interface Found {
  readonly field: Field;
  readonly ranges: readonly Range[];
}

export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Match {
  readonly found: readonly Found[];
  /** The quality of the match, regardless of age. */
  readonly weight: number;
}

/** Returns undefined unless each phrase occurs in one of the texts. */
export function matchFields(phrases: readonly Phrase[], fields: readonly Field[]): Match | undefined {
  const texts = fields.map((field) => ({ field, words: new TextWords(field.text), ranges: [] as Range[] }));
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
  const found = texts
    .filter(({ ranges }) => ranges.length > 0)
    .map(({ field, ranges }) => ({ field, ranges: joined(ranges) }));
  const parts = phrases.length;
  if (parts > 1 && found.some((it) => isTogether(it.ranges, it.field.text, parts))) weight += TOGETHER;
  return { found, weight };
}

/** The words of one text, which are cut on first use. Their positions are their indexes. */
class TextWords {
  readonly #text: string;
  readonly #lowered: string | undefined;
  #words: readonly Word[] | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#lowered = isPlain(text) ? text.toLowerCase() : undefined;
  }

  find(phrase: Phrase): { isWhole: boolean; range: Range }[] {
    if (this.#lacks(phrase)) return [];
    this.#words ??= wordsOf(this.#text, 'document');
    const words = this.#words;
    const found: { isWhole: boolean; range: Range }[] = [];
    for (const { position, start } of words) {
      let end = start;
      let isWhole = true;
      const isThere = phrase.words.every((wanted) => {
        const word = words[position + wanted.offset];
        if (word === undefined || !isWanted(word, wanted)) return false;
        isWhole &&= word.text === wanted.text;
        end = Math.max(end, endOf(word, wanted, words[word.position + 1]));
        return true;
      });
      if (isThere) found.push({ isWhole, range: { start, end } });
      if (found.length === MAX_RANGES) break;
    }
    return found;
  }

  /** Rejects most texts cheaply. */
  #lacks({ words }: Phrase): boolean {
    const lowered = this.#lowered;
    return lowered !== undefined && words.some(({ text }) => !lowered.includes(text));
  }
}

/** If one character of a script without blanks is found in a pair, only it is marked. */
function endOf(word: Word, wanted: WantedWord, next: Word | undefined): number {
  const isOne = word.text !== wanted.text && isOfPairs(word.text);
  return isOne ? (next?.start ?? word.end) : word.end;
}

function isWanted({ text }: Word, wanted: WantedWord): boolean {
  return wanted.isPrefix ? text.startsWith(wanted.text) : text === wanted.text;
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
