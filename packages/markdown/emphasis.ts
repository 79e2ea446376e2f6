import type { Inline } from './parts.ts';
import { characterAt, characterBefore, WITHOUT_SPACES } from './scripts.ts';

/** A part among its neighbours. */
export interface Place {
  part: Inline;
  /** How deep emphasis is nested within the part. */
  depth: number;
  after: Place | undefined;
}

/** A run of `*`, `_` or `~` that may open or close emphasis. */
interface Mark {
  readonly place: Place;
  readonly sign: string;
  /** The characters as written, and those that are left. */
  readonly length: number;
  left: number;
  readonly opens: boolean;
  readonly closes: boolean;
}

/** Emphasis nested deeper stays as written, because drawing it recurses. */
const MOST_LEVELS = 20;

/**
 * The parts of a paragraph in their order, in which runs of `*`, `_` and `~` become emphasis by the
 * rules of CommonMark and GFM. A letter of a script without spaces counts as a blank beside
 * punctuation, so that `**「x」**です` is bold. Takes time linear in the number of parts.
 */
export class Emphasis {
  readonly #text: string;
  readonly #head: Place = { part: { type: 'break' }, depth: 0, after: undefined };
  #last = this.#head;
  #marks: Mark[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** The number of marks that are not decided. */
  get marks(): number {
    return this.#marks.length;
  }

  add(part: Inline): Place {
    const place: Place = { part, depth: 0, after: undefined };
    this.#last.after = place;
    this.#last = place;
    return place;
  }

  /** Adds the run of marks at a position, and returns the position behind it. */
  mark(at: number): number {
    const text = this.#text;
    const sign = text[at]!;
    let end = at;
    while (text[end] === sign) end += 1;
    const place = this.add({ type: 'text', text: text.slice(at, end) });
    const before = characterBefore(text, at);
    const after = characterAt(text, end);
    const left = kindOf(before);
    const right = kindOf(after);
    const isLeft = right !== 'blank' && (right !== 'sign' || left !== 'letter');
    const isRight = left !== 'blank' && (left !== 'sign' || right !== 'letter');
    const isWord = sign === '_';
    const opens = isLeft && (!isWord || !isRight || SIGN.test(before));
    const closes = isRight && (!isWord || !isLeft || SIGN.test(after));
    const length = end - at;
    // Asterisks between digits are of a product: 5*3*2.
    const isProduct = sign === '*' && DIGIT.test(before) && DIGIT.test(after);
    if ((opens || closes) && !isProduct && (sign !== '~' || length <= 2)) {
      this.#marks.push({ place, sign, length, left: length, opens, closes });
    }
    return end;
  }

  /** Takes the parts behind a place out, with the emphasis of their own marks. */
  takeAfter(place: Place, marks: number): Inline[] {
    this.#pair(marks);
    const inner = partsAfter(place);
    place.depth = depthBetween(place);
    place.after = undefined;
    this.#last = place;
    return inner;
  }

  /** Returns the parts, once all have been added. */
  close(): Inline[] {
    this.#pair(0);
    return partsAfter(this.#head);
  }

  /** Pairs the marks from the given one on: each that closes with the nearest that opens. */
  #pair(from: number): void {
    const marks = this.#marks.splice(from);
    const open: Mark[] = [];
    // How many open marks were looked through in vain for a mark of the same kind.
    const searched = new Map<string, number>();
    for (const mark of marks) {
      while (mark.closes && mark.left > 0) {
        const kind = `${mark.sign}${mark.opens}${mark.length % 3}${mark.sign === '~' ? mark.left : ''}`;
        const least = searched.get(kind) ?? 0;
        let index = open.length - 1;
        while (index >= least && !isPair(open[index]!, mark)) index -= 1;
        if (index < least) {
          searched.set(kind, open.length);
          break;
        }
        // Marks between the two open nothing.
        open.length = index + 1;
        for (const [other, known] of searched) if (known > open.length) searched.set(other, open.length);
        // Emphasis around it would be nested too deep as well.
        if (!this.#wrap(open[index]!, mark)) open.length = 0;
        else if (open[index]!.left === 0) open.pop();
      }
      if (mark.opens && mark.left > 0) open.push(mark);
    }
  }

  /** Puts the parts between two marks into one. Returns false where it would be nested too deep. */
  #wrap(opening: Mark, closing: Mark): boolean {
    const depth = depthBetween(opening.place, closing.place) + 1;
    if (depth > MOST_LEVELS) return false;
    const count = opening.sign === '~' ? opening.left : opening.left >= 2 && closing.left >= 2 ? 2 : 1;
    const type = opening.sign === '~' ? 'del' : count === 2 ? 'strong' : 'em';
    const inner = partsAfter(opening.place, closing.place);
    opening.place.after = { part: { type, inner }, depth, after: closing.place };
    for (const mark of [opening, closing]) {
      mark.left -= count;
      mark.place.part = { type: 'text', text: mark.sign.repeat(mark.left) };
    }
    return true;
  }
}

function isPair(opening: Mark, closing: Mark): boolean {
  if (opening.sign !== closing.sign) return false;
  if (opening.sign === '~') return opening.left === closing.left;
  const isEither = opening.closes || closing.opens;
  return !isEither || (opening.length + closing.length) % 3 !== 0 || opening.length % 3 === 0;
}

/** Returns the parts behind a place, up to the end or another place, with texts joined. */
function partsAfter(place: Place, end?: Place): Inline[] {
  const parts: Inline[] = [];
  for (let at = place.after; at !== end && at !== undefined; at = at.after) {
    const { part } = at;
    const last = parts.at(-1);
    if (part.type !== 'text') parts.push(part);
    else if (last?.type === 'text' && last.isLiteral === part.isLiteral) {
      parts[parts.length - 1] = { ...last, text: last.text + part.text };
    } else if (part.text !== '') parts.push(part);
  }
  return parts;
}

function depthBetween(place: Place, end?: Place): number {
  let depth = 0;
  for (let at = place.after; at !== end && at !== undefined; at = at.after) depth = Math.max(depth, at.depth);
  return depth;
}

/** Returns how a character beside a mark counts; `wide` is one of a script without spaces. */
function kindOf(character: string): 'blank' | 'sign' | 'wide' | 'letter' {
  if (character.trim() === '') return 'blank';
  return WIDE.test(character) ? 'wide' : SIGN.test(character) ? 'sign' : 'letter';
}

const WIDE = new RegExp(WITHOUT_SPACES, 'u');
const DIGIT = /\p{Nd}/u;
const SIGN = /[\p{P}\p{S}]/u;
