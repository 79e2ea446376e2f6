import { lexer, type Token, Tokenizer } from 'marked';

/**
 * Reads Markdown into its blocks. What is nested more than MOST_LEVELS deep stays text: reading and
 * drawing go down a level by a call of themselves, and two thousand quotes in one message were more
 * than a browser's stack.
 */
export function readMarkdown(text: string): Token[] {
  return lexer(text, { gfm: true, breaks: true, tokenizer: new ShallowTokenizer() });
}

const MOST_LEVELS = 20;

/** Counts the levels of what contains other Markdown; one that returns nothing reads it as text. */
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
    return this.#within(() => super.link(...source));
  }

  override reflink(...source: Parameters<Tokenizer['reflink']>) {
    return this.#within(() => super.reflink(...source));
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
