import { isPlain } from '@parley/protocol/folding.ts';
import type { SearchHighlight } from '@parley/protocol/resources/search-hit.ts';
import type { Phrase } from './query.ts';
import { isOfPairs, type Word, wordsOf } from './words.ts';

/** A text of a message or a conversation, with the member if it is a name. */
export interface Field {
  readonly name: SearchHighlight['field'];
  readonly text: string;
  readonly actorId: string | null;
}

export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Match {
  /** The ranges of the query's words in each text: UTF-16 units, in order, without overlaps. */
  readonly found: readonly { readonly field: Field; readonly ranges: readonly Range[] }[];
  /** The quality of the match, regardless of age. */
  readonly weight: number;
}

/** Returns undefined unless each phrase occurs in one of the texts. */
export function matchFields(phrases: readonly Phrase[], fields: readonly Field[]): Match | undefined {
  const texts = fields.map((field) => ({ field, find: finderIn(field.text), ranges: [] as Range[] }));
  let weight = 0;
  for (const phrase of phrases) {
    const places = texts.flatMap(({ find, ranges }) => {
      const inText = find(phrase);
      ranges.push(...inText.slice(0, MAX_RANGES - ranges.length));
      return inText;
    });
    if (places.length === 0) return undefined;
    const best = places.some(({ isWhole }) => isWhole) ? WHOLE : BEGINNING;
    const repeated = Math.min(places.length - 1, MAX_REPEATS) * REPEATED;
    weight += best + repeated + (phrase.length - 1) * LONGER;
  }
  const found = texts
    .filter(({ ranges }) => ranges.length > 0)
    .map(({ field, ranges }) => ({ field, ranges: joined(ranges) }));
  const parts = phrases.length;
  if (parts > 1 && found.some((it) => isTogether(it.ranges, it.field.text, parts))) weight += TOGETHER;
  return { found, weight };
}

interface Place extends Range {
  readonly isWhole: boolean;
}

/** Returns a function that finds a phrase in a text, whose words are cut on first use. */
function finderIn(text: string): (phrase: Phrase) => readonly Place[] {
  const lowered = isPlain(text) ? text.toLowerCase() : undefined;
  let words: readonly Word[] | undefined;
  return (phrase) => {
    // Rejects most texts cheaply.
    if (lowered !== undefined && phrase.some((wanted) => !lowered.includes(wanted.text))) return [];
    words ??= wordsOf(text, 'document');
    return placesOf(phrase, words);
  };
}

/** Returns the positions of a phrase; the positions of a document's words are their indexes. */
function placesOf(phrase: Phrase, words: readonly Word[]): Place[] {
  const places: Place[] = [];
  for (const { position, start } of words) {
    let end = start;
    let isWhole = true;
    const isThere = phrase.every(({ text, offset, isPrefix }) => {
      const word = words[position + offset];
      if (!word?.text.startsWith(text)) return false;
      const isSame = word.text === text;
      isWhole &&= isSame;
      // If one character of a script without blanks is found in a pair, only it is marked.
      const next = isSame || !isOfPairs(text) ? undefined : words[word.position + 1];
      end = Math.max(end, next?.start ?? word.end);
      return isSame || isPrefix;
    });
    if (isThere) places.push({ start, end, isWhole });
    if (places.length === MAX_RANGES) break;
  }
  return places;
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
