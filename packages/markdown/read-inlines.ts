import { type Address, addressesIn, isSafeAddress } from './addresses.ts';
import { Emphasis, type Place } from './emphasis.ts';
import { destinationAt } from './link-target.ts';
import type { Inline, LinkPart, TextPart } from './parts.ts';

/** Addresses by the names that a text gives them (`[name]: https://…`), in lower case. */
export type References = ReadonlyMap<string, string>;

/**
 * Reads the words of a paragraph: emphasis, code, links, addresses and line breaks. Everything else
 * is text, with its blanks and with HTML. Takes time linear in the length of the text.
 */
export function readInlines(text: string, references: References): Inline[] {
  return new InlineReader(text, references).read();
}

interface Bracket {
  readonly place: Place;
  /** The position behind the bracket. */
  readonly from: number;
  readonly isImage: boolean;
  /** The number of marks of emphasis before it. */
  readonly marks: number;
}

class InlineReader {
  readonly #text: string;
  readonly #references: References;
  readonly #addresses: readonly Address[];
  readonly #emphasis: Emphasis;
  /** Names of elements that do not end in the rest of the text. */
  readonly #endless = new Set<string>();
  readonly #brackets: Bracket[] = [];
  /** Brackets below this one have a link behind them, and become no link around it. */
  #closed = 0;
  #ticks: Map<number, number[]> | undefined;
  #nextAddress = 0;
  #at = 0;

  constructor(text: string, references: References) {
    this.#text = text;
    this.#references = references;
    this.#addresses = addressesIn(text);
    this.#emphasis = new Emphasis(text);
  }

  read(): Inline[] {
    while (this.#at < this.#text.length) {
      const address = this.#addressHere();
      if (address === undefined) this.#step();
      else {
        this.#add(linkTo(address.href, [wordsOf(this.#text.slice(address.start, address.end))]));
        this.#at = address.end;
      }
    }
    return this.#emphasis.close();
  }

  /** Returns the address that begins here; undefined if none does. */
  #addressHere(): Address | undefined {
    while ((this.#addresses[this.#nextAddress]?.start ?? Infinity) < this.#at) this.#nextAddress += 1;
    const next = this.#addresses[this.#nextAddress];
    return next?.start === this.#at ? next : undefined;
  }

  #step(): void {
    const sign = this.#text[this.#at]!;
    switch (sign) {
      case '\n':
        this.#add({ type: 'break' });
        this.#at += 1;
        return;
      case '\\':
        this.#escape();
        return;
      case '`':
        this.#code();
        return;
      case '*':
      case '_':
      case '~':
        this.#at = this.#emphasis.mark(this.#at);
        return;
      case '[':
        this.#open(1, false);
        return;
      case '!':
        if (this.#text[this.#at + 1] === '[') this.#open(2, true);
        else this.#words(1);
        return;
      case ']':
        this.#closeBracket();
        return;
      case '<':
        this.#angle();
        return;
      default: {
        WORDS.lastIndex = this.#at;
        const end = WORDS.exec(this.#text)![0].length + this.#at;
        const next = this.#addresses[this.#nextAddress]?.start ?? Infinity;
        this.#words(Math.min(end, next) - this.#at);
      }
    }
  }

  #add(part: Inline): Place {
    return this.#emphasis.add(part);
  }

  /** Adds characters from here as text. */
  #words(count: number, isLiteral = false): void {
    const text = this.#text.slice(this.#at, this.#at + count);
    this.#add(isLiteral ? { type: 'text', text, isLiteral } : wordsOf(text));
    this.#at += count;
  }

  #escape(): void {
    const next = this.#text[this.#at + 1] ?? '';
    if (next === '\n' || ESCAPED.test(next)) this.#at += 1;
    if (next === '\n') return;
    this.#words(1, next !== '' && ESCAPED.test(next));
  }

  /** Adds code between two runs of as many backticks, or the first run as text. */
  #code(): void {
    const text = this.#text;
    const start = this.#at;
    let from = start;
    while (text[from] === '`') from += 1;
    const length = from - start;
    this.#ticks ??= runsByLength(text);
    // Runs are taken from the end, so that one that was passed is not visited again.
    const runs = this.#ticks.get(length) ?? [];
    while (runs.length > 0 && runs.at(-1)! < from) runs.pop();
    const end = runs.at(-1);
    if (end === undefined) {
      this.#words(length);
      return;
    }
    const inner = text.slice(from, end).replaceAll('\n', ' ');
    const isPadded = inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== '';
    this.#add({ type: 'code', text: isPadded ? inner.slice(1, -1) : inner });
    this.#at = end + length;
  }

  #open(length: number, isImage: boolean): void {
    const from = this.#at + length;
    const marks = this.#emphasis.marks;
    const place = this.#add(wordsOf(this.#text.slice(this.#at, from)));
    this.#brackets.push({ place, from, isImage, marks });
    this.#at = from;
  }

  /**
   * Makes a link of the text since the last bracket, if an address follows or its name is known.
   */
  #closeBracket(): void {
    const bracket = this.#brackets.pop();
    const isClosed = this.#brackets.length < this.#closed && bracket?.isImage === false;
    this.#closed = Math.min(this.#closed, this.#brackets.length);
    const target = bracket === undefined || isClosed ? undefined : this.#targetOf(bracket);
    if (bracket === undefined || target === undefined) {
      this.#words(1);
      return;
    }
    const inner = this.#emphasis.takeAfter(bracket.place, bracket.marks);
    const { href, title, end, keepsBrackets } = target;
    const shown = keepsBrackets ? [wordsOf('['), ...inner, wordsOf(']')] : inner;
    bracket.place.part = linkTo(href, shown.flatMap(withoutLinks), title);
    if (!bracket.isImage) this.#closed = this.#brackets.length;
    this.#at = end;
  }

  #targetOf({ from }: Bracket): Target | undefined {
    const label = this.#text.slice(from, this.#at);
    const after = this.#at + 1;
    if (label.trim() === '') return undefined;
    const direct = destinationAt(this.#text, after);
    if (direct !== undefined) return isSafeAddress(direct.href) ? direct : undefined;
    if (this.#references.size === 0 || label.length > MOST_LABEL) return undefined;
    NAME.lastIndex = after;
    const name = NAME.exec(this.#text)?.[1];
    const href = this.#references.get(labelOf(name ?? label));
    if (href === undefined || (name === undefined && this.#text[after] === ':')) return undefined;
    const end = name === undefined ? after : NAME.lastIndex;
    return { href, title: null, end, keepsBrackets: name === undefined };
  }

  /** Adds an address in angle brackets, a tag as text, or the bracket alone. */
  #angle(): void {
    AUTOLINK.lastIndex = this.#at;
    const [whole, address = ''] = AUTOLINK.exec(this.#text) ?? [];
    const href = address.includes(':') ? address : `mailto:${address}`;
    if (whole !== undefined && isSafeAddress(href)) {
      this.#add(linkTo(href, [wordsOf(address)]));
      this.#at += whole.length;
      return;
    }
    TAG.lastIndex = this.#at;
    const [tag, name = ''] = TAG.exec(this.#text) ?? [];
    const end = RAW_ELEMENT.test(name) && tag![1] !== '/' ? this.#endOf(name) : -1;
    if (end < 0) this.#words(tag?.length ?? 1);
    else this.#literal(end);
  }

  /** Returns the position behind the end of an element that begins here; -1 if it has none. */
  #endOf(name: string): number {
    const closing = `</${name}>`;
    const at = this.#endless.has(name) ? -1 : this.#text.indexOf(closing, this.#at);
    if (at < 0) this.#endless.add(name);
    return at < 0 ? -1 : at + closing.length;
  }

  /** Adds the text up to `end` as it is, line by line. */
  #literal(end: number): void {
    while (this.#at < end) {
      if (this.#text[this.#at] === '\n') this.#step();
      else {
        const line = this.#text.indexOf('\n', this.#at);
        this.#words((line < 0 ? end : Math.min(line, end)) - this.#at, true);
      }
    }
  }
}

interface Target {
  readonly href: string;
  readonly title: string | null;
  /** The position behind it. */
  readonly end: number;
  /** Whether the text is shown with its brackets, as a footnote: `[1]`. */
  readonly keepsBrackets?: boolean;
}

/** Returns the name of an address as References have it. */
export function labelOf(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}

const MOST_LABEL = 999;
const NAME = new RegExp(String.raw`\[([^[\]\\]{1,${MOST_LABEL}})\]`, 'y');
const WORDS = /[^\n\\`*_~[\]!<]+/y;
const ESCAPED = /[!-/:-@[-`{-~]/;
const TAG = /<\/?([a-z][a-z\d-]*)(?:\s[^<>]*)?\/?>/iy;
const AUTOLINK =
  /<([a-z][a-z\d+.-]{1,31}:[^\s<>]+|[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z\d-]+(?:\.[a-z\d-]+)+)>/iy;
/** Elements whose content is shown as it is: code, and the words of others. */
const RAW_ELEMENT = /^(?:pre|code|kbd|samp|script|style|textarea|blockquote)$/i;

function wordsOf(text: string): TextPart {
  return { type: 'text', text };
}

function linkTo(href: string, inner: readonly Inline[], title: string | null = null): LinkPart {
  return { type: 'link', href, title, inner };
}

function withoutLinks(part: Inline): readonly Inline[] {
  if (part.type === 'link') return part.inner;
  return 'inner' in part ? [{ ...part, inner: part.inner.flatMap(withoutLinks) }] : [part];
}

/** Returns the positions of the runs of backticks, by their lengths, the last ones first. */
function runsByLength(text: string): Map<number, number[]> {
  const runs = [...text.matchAll(/`+/g)].reverse();
  const byLength = new Map<number, number[]>();
  for (const { 0: run, index } of runs) {
    const known = byLength.get(run.length);
    if (known === undefined) byLength.set(run.length, [index]);
    else known.push(index);
  }
  return byLength;
}
