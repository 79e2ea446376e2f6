import { lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from 'marked';

/**
 * Reads Markdown into its blocks. Parts nested more than MOST_LEVELS deep stay text: reading and
 * drawing recurse for each level, and two thousand quotes in one message exceeded a browser's
 * stack. A block that would show nothing, or lose letters or digits, is text too: `#`, or a row of
 * a table with more cells than its head.
 */
export function readMarkdown(text: string): Token[] {
  const blocks = lexer(text, { gfm: true, breaks: true, tokenizer: new ShallowTokenizer() });
  return blocks.map((block) => (isWhole(block) ? block : textBlock(block.raw)));
}

function isWhole(block: Token): boolean {
  if (block.type === 'space' || block.type === 'hr') return true;
  const shown = shownOf(block as MarkedToken);
  return shown.trim() !== '' && lengthOf(shown) >= lengthOf(block.raw);
}

/** Returns the number of letters and digits. */
function lengthOf(text: string): number {
  return text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
}

/** Returns the text that a token shows, with its addresses, titles and languages of code. */
function shownOf(token: MarkedToken): string {
  switch (token.type) {
    case 'list':
      // A list shows a number for each item, which may differ from the written number.
      return token.items.map((item) => `${numberOf(item)}${textOf(item.tokens)}`).join(' ');
    case 'table':
      return textOf([token.header, ...token.rows].flat().flatMap(({ tokens }) => tokens));
    case 'code':
      return token.text === '' ? '' : `${token.lang ?? ''} ${token.text}`;
    case 'br':
      return ' ';
    case 'link':
    case 'image':
    case 'def':
    case 'html':
    case 'escape':
      return token.raw;
    default:
      return 'tokens' in token && token.tokens !== undefined
        ? textOf(token.tokens)
        : 'text' in token
          ? token.text
          : token.raw;
  }
}

function textOf(tokens: readonly Token[]): string {
  return tokens.map((token) => shownOf(token as MarkedToken)).join('');
}

function numberOf({ raw }: Tokens.ListItem): string {
  return /^\s*(\d+)[.)]/.exec(raw)?.[1] ?? '';
}

function textBlock(raw: string): Tokens.Paragraph {
  const lines = raw.trim().split('\n');
  const tokens = lines.flatMap((line, index): Token[] => [
    ...(index === 0 ? [] : [{ type: 'br', raw: '\n' }]),
    { type: 'text', raw: line, text: line, escaped: false },
  ]);
  return { type: 'paragraph', raw, text: raw, tokens };
}

const MOST_LEVELS = 20;

/** Counts the levels of nested Markdown; a method that returns nothing reads it as text. */
class ShallowTokenizer extends Tokenizer {
  #level = 0;

  override blockquote(...source: Parameters<Tokenizer['blockquote']>) {
    return this.#within(() => super.blockquote(...source));
  }

  override list(...source: Parameters<Tokenizer['list']>) {
    return this.#within(() => super.list(...source));
  }

  override emStrong(...source: Parameters<Tokenizer['emStrong']>) {
    return this.#within(() => super.emStrong(...source));
  }

  override del(...source: Parameters<Tokenizer['del']>) {
    return this.#within(() => super.del(...source));
  }

  override link(...source: Parameters<Tokenizer['link']>) {
    return named(this.#within(() => super.link(...source)));
  }

  /** Reads a second definition of the same name as text, because it defines nothing. */
  override def(...source: Parameters<Tokenizer['def']>) {
    const read = super.def(...source);
    return read !== undefined && Object.hasOwn(this.lexer.tokens.links, read.tag) ? undefined : read;
  }

  override reflink(...source: Parameters<Tokenizer['reflink']>) {
    return named(this.#within(() => super.reflink(...source)));
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

/** Names a link or a picture without words by its address. */
function named<Read extends { type: string; raw: string }>(read: Read | undefined): Read | undefined {
  if (read === undefined || !('href' in read) || !('text' in read)) return read;
  const { href, text } = read as unknown as Tokens.Link;
  if (text.trim() !== '') return read;
  return { ...read, text: href, tokens: [{ type: 'text', raw: href, text: href, escaped: false }] };
}
