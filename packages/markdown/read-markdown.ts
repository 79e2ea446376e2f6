import { Lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from 'marked';
import { addressesIn, isSafeAddress } from './addresses.ts';
import type { Block, Inline, ListItem } from './parts.ts';
import { labelOf, type References, readInlines } from './read-inlines.ts';

/**
 * Reads Markdown into its blocks. HTML is text, and text that CommonMark would not show is shown as
 * it was written: `[name]: https://…`, `#` alone, a row of a table with more cells than its head.
 * Parts nested more than MOST_LEVELS deep are text as well, because reading and drawing recurse.
 */
export function readMarkdown(text: string): Block[] {
  const lexer = new BlockLexer({ gfm: true, breaks: true, tokenizer: new BlockTokenizer() });
  return new BlockReader(referencesIn(text)).read(lexer.lex(text.replace(/[\u2028\u2029]/g, '\n')));
}

/**
 * Reads a text that is no Markdown, such as that of a mail, into one block: its lines, with links
 * where it has addresses.
 */
export function readPlain(text: string): Block[] {
  let from = 0;
  const inner = addressesIn(text).flatMap(({ start, end, href }): Inline[] => {
    const before = linesOf(text.slice(from, start));
    from = end;
    return [...before, { type: 'link', href, title: null, inner: linesOf(text.slice(start, end)) }];
  });
  return [{ type: 'paragraph', raw: text, inner: [...inner, ...linesOf(text.slice(from))] }];
}

function linesOf(text: string): Inline[] {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.flatMap((line, index): Inline[] => [
    ...(index === 0 ? [] : [{ type: 'break' } as const]),
    ...(line === '' ? [] : [{ type: 'text', text: line } as const]),
  ]);
}

/** Returns the addresses of lines such as `[name]: https://…`, the first one of each name. */
function referencesIn(text: string): References {
  const references = new Map<string, string>();
  for (const [, name = '', href = ''] of text.matchAll(REFERENCE)) {
    const label = labelOf(name);
    if (!references.has(label) && isSafeAddress(href)) references.set(label, href);
  }
  return references;
}

const REFERENCE = /^ {0,3}\[([^[\]\\\n]{1,999})\]:[ \t]*<?((?:https?|mailto):[^\s<>]+)/gim;

/** Leaves the words of blocks to `readInlines`. */
class BlockLexer extends Lexer {
  override inlineTokens(_source: string, tokens: Token[] = []): Token[] {
    return tokens;
  }
}

const MOST_LEVELS = 20;
/** A table with more cells is text: each short row would have as many as the head. */
const MOST_CELLS = 5_000;

/** A method that returns nothing leaves its source to the others, at last as a paragraph. */
class BlockTokenizer extends Tokenizer {
  #level = 0;

  /** Reads the lines that begin as a quote: a line without a mark below them answers it. */
  override blockquote(source: string) {
    const [lines = ''] = QUOTED_LINES.exec(source) ?? [];
    return lines === '' ? undefined : this.#within(() => super.blockquote(lines));
  }

  override list(source: string) {
    return this.#within(() => super.list(source));
  }

  /** Empties a table that is too large, or whose rows have more than its head: it is no table. */
  override table(source: string) {
    const [whole = '', head = ''] = this.rules.block.table.exec(source) ?? [];
    const isLarge = head.split('|').length * whole.split('\n').length > MOST_CELLS;
    const table = isLarge ? undefined : super.table(source);
    const cells = table && [table.header, ...table.rows].flat().map(({ text }) => text);
    const isRead = cells !== undefined && lengthOf(cells.join(' ')) >= lengthOf(table!.raw);
    if (isRead || (table === undefined && !isLarge)) return table;
    return { type: 'table' as const, raw: whole.trimEnd(), header: [], align: [], rows: [] };
  }

  override def() {
    return undefined;
  }

  /** Reads no underlined headings: `--` below a text begins a signature. */
  override lheading() {
    return undefined;
  }

  /** Reads elements whose content is text to the end of the element, and other HTML as text. */
  override html(source: string) {
    const name = /^ {0,3}<(pre|script|style|textarea)[\s>]/i.exec(source)?.[1];
    return name !== undefined && source.includes(`</${name}>`) ? super.html(source) : undefined;
  }

  #within<Read>(read: () => Read | undefined): Read | undefined {
    if (this.#level >= MOST_LEVELS) return undefined;
    this.#level += 1;
    try {
      return read();
    } finally {
      this.#level -= 1;
    }
  }
}

const QUOTED_LINES = /^(?: {0,3}>[^\n]*(?:\n|$))+/;

/** Returns the number of letters and digits. */
function lengthOf(text: string): number {
  return text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
}

/** Makes blocks of the tokens of the library. */
class BlockReader {
  readonly #references: References;

  constructor(references: References) {
    this.#references = references;
  }

  read(tokens: readonly Token[]): Block[] {
    return joined(tokens as readonly MarkedToken[]).flatMap((token): Block[] => {
      const block = this.#blockOf(token);
      if (block === undefined || isShown(block)) return block === undefined ? [] : [block];
      return [{ type: 'paragraph', raw: token.raw, inner: this.#inlines(token.raw.trim()) }];
    });
  }

  /** Returns undefined for a token that is no block of its own. */
  #blockOf(token: MarkedToken): Block | undefined {
    const { raw } = token;
    switch (token.type) {
      case 'space': {
        const lines = raw.split('\n').length - 2;
        return lines < 1 ? undefined : { type: 'gap', raw, lines };
      }
      case 'checkbox':
        return undefined;
      case 'hr':
        return { type: 'rule', raw };
      case 'code': {
        // Words behind the fence are a line of the code if they are no language.
        const words = /\s/.test(token.lang ?? '') ? `${token.lang}\n` : '';
        return { type: 'code', raw, text: `${words}${token.text}` };
      }
      case 'heading':
        return { type: 'heading', raw, level: token.depth, inner: this.#inlines(token.text) };
      case 'blockquote':
        return { type: 'quote', raw, blocks: this.read(token.tokens) };
      case 'list': {
        const numbers = numbersOf(token);
        const items = token.items.map((item, index) => this.#itemOf(item, numbers[index] ?? null));
        return { type: 'list', raw, isLoose: token.loose, items };
      }
      case 'table': {
        const rows = [token.header, ...token.rows];
        return {
          type: 'table',
          raw,
          rows: rows.map((cells) => cells.map(({ text }) => this.#inlines(text))),
        };
      }
      case 'text':
        return { type: 'words', raw, inner: this.#inlines(token.text) };
      default:
        return { type: 'paragraph', raw, inner: this.#inlines('text' in token ? token.text : raw) };
    }
  }

  #itemOf({ task, checked, tokens }: Tokens.ListItem, number: number | null): ListItem {
    const [first, ...others] = tokens;
    // The library puts the mark of a task before the first paragraph.
    const content =
      task && first?.type === 'paragraph'
        ? [{ ...first, text: (first as Tokens.Paragraph).text.replace(/^\[[ x]\]\s*/i, '') }, ...others]
        : tokens;
    return { number, isDone: task ? checked === true : null, blocks: this.read(content) };
  }

  #inlines(text: string): Inline[] {
    return readInlines(text, this.#references);
  }
}

/** Returns the numbers of items; none for a list without numbers. */
function numbersOf({ start, items }: Tokens.List): readonly number[] {
  if (start === '') return [];
  const numbers = items.map(({ raw }) => Number.parseInt(raw, 10));
  return numbers.every((number) => number === start) ? items.map((_, index) => start + index) : numbers;
}

/** Joins paragraphs without an empty line between them: HTML begins one in the library alone. */
function joined(tokens: readonly MarkedToken[]): MarkedToken[] {
  const all: MarkedToken[] = [];
  for (const token of tokens) {
    const last = all.at(-1);
    if (last?.type !== 'paragraph' || token.type !== 'paragraph') all.push(token);
    else {
      const raw = `${last.raw}${last.raw.endsWith('\n') ? '' : '\n'}${token.raw}`;
      all[all.length - 1] = { ...last, raw, text: `${last.text}\n${token.text}` };
    }
  }
  return all;
}

/** Returns whether a block shows more than blanks. */
function isShown(block: Block): boolean {
  switch (block.type) {
    case 'gap':
    case 'rule':
      return true;
    case 'code':
      return block.text !== '';
    case 'quote':
      return block.blocks.some((one) => one.type !== 'gap' && isShown(one));
    case 'list':
      return block.items.some(({ blocks }) => blocks.some(isShown));
    case 'table':
      return block.rows.flat(2).some(hasWords);
    default:
      return block.inner.some(hasWords);
  }
}

function hasWords(part: Inline): boolean {
  return 'inner' in part ? part.inner.some(hasWords) : part.type !== 'break' && part.text.trim() !== '';
}
