/** Collects the text of an HTML document from its tags and texts in order. Quotes get `> `. */
export class HtmlText {
  /** The separator before every cell of a line but the first. */
  readonly #cellMark: string;
  readonly #lines: string[] = [];
  /** The pieces of the last line, joined once: reading a growing text copies it each time. */
  #line: string[] = [];
  #quotes = 0;
  /** Quote depth at the blank line before the next text, or null without such a line. */
  #gap: number | null = null;
  /** Number of open elements in a hidden one, including itself. */
  #hidden = 0;
  #pre = 0;
  #link: { readonly href: string; text: string } | null = null;

  constructor(cellMark = '') {
    this.#cellMark = cellMark;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    const { style = '', hidden, href = '' } = attributes;
    const isHidden = HIDDEN.test(style) || hidden !== undefined;
    if (this.#hidden > 0 || isHidden) {
      this.#hidden += 1;
      return;
    }
    if (name === 'br') this.#endLine();
    else if (name === 'hr') this.#rule();
    else if (PARAGRAPHS.has(name)) this.#endParagraph();
    else if (BLOCKS.has(name)) this.#endBlock();
    else if (CELLS.has(name)) this.#beginCell();
    if (name === 'li') this.#line = ['- '];
    if (name === 'blockquote') this.#quotes += 1;
    if (name === 'pre') this.#pre += 1;
    if (name === 'a') this.#link = { href, text: '' };
  }

  close(name: string): void {
    if (this.#hidden > 0) {
      this.#hidden -= 1;
      return;
    }
    if (name === 'a') this.#endLink();
    if (name === 'blockquote') {
      this.#endBlock();
      this.#quotes = Math.max(0, this.#quotes - 1);
    }
    if (PARAGRAPHS.has(name)) this.#endParagraph();
    else if (BLOCKS.has(name)) this.#endBlock();
    if (name === 'pre' && this.#pre > 0) this.#pre -= 1;
  }

  add(text: string): void {
    if (this.#hidden > 0) return;
    if (this.#link !== null) this.#link.text += text;
    if (this.#pre > 0) {
      for (const [index, line] of text.split('\n').entries()) {
        if (index > 0) this.#endLine();
        this.#line.push(line);
      }
      return;
    }
    const flat = text.replace(/[\s\u00a0]+/g, ' ');
    const piece = this.#endsWithBlank ? flat.replace(/^ /, '') : flat;
    if (piece !== '') this.#line.push(piece);
  }

  finish(): string {
    this.#endBlock();
    return this.#lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
  }

  #endLine(): void {
    if (this.#gap !== null && this.#lines.length > 0) this.#push('', Math.min(this.#gap, this.#quotes));
    this.#gap = null;
    this.#push(this.#line.join(''), this.#quotes);
    this.#line = [];
  }

  #beginCell(): void {
    const isFirst = this.#line.length === 0;
    if (!this.#endsWithBlank) this.#line.push(' ');
    if (!isFirst && this.#cellMark !== '') this.#line.push(this.#cellMark);
  }

  get #endsWithBlank(): boolean {
    return this.#line.at(-1)?.endsWith(' ') ?? true;
  }

  #push(line: string, quotes: number): void {
    const prefix = '>'.repeat(Math.min(quotes, MAX_QUOTES));
    // The line above a signature ends with a blank (RFC 3676).
    const isSignature = prefix === '' && line === '-- ';
    this.#lines.push(isSignature ? line : `${prefix}${prefix === '' ? '' : ' '}${line}`.trimEnd());
  }

  #endBlock(): void {
    if (this.#line.every((piece) => piece.trim() === '')) this.#line = [];
    else this.#endLine();
  }

  #endParagraph(): void {
    this.#endBlock();
    this.#gap = Math.min(this.#gap ?? this.#quotes, this.#quotes);
  }

  /** Adds a rule, as Outlook does before quotes. */
  #rule(): void {
    this.#endBlock();
    this.#line = ['_'.repeat(32)];
    this.#endLine();
  }

  #endLink(): void {
    const link = this.#link;
    this.#link = null;
    if (link === null || link.href.length > MAX_HREF_CHARACTERS || !/^(https?|mailto):/i.test(link.href))
      return;
    const target = link.href.replace(/^mailto:/i, '');
    const text = link.text.trim();
    // Addresses of pictures, and of tracked links without a text, are meaningless.
    if (text === '' || text.includes(target) || target.replace(/^https?:\/\/|\/$/gi, '') === text) return;
    this.#line.push(` [${target}]`);
  }
}

const HIDDEN = /display\s*:\s*none|mso-hide\s*:\s*all|visibility\s*:\s*hidden/i;
const MAX_QUOTES = 20;
const MAX_HREF_CHARACTERS = 300;
const PARAGRAPHS = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'dl', 'blockquote', 'pre']);
const BLOCKS = new Set(
  wordsOf(`
    div table tr li dt dd section article header footer main address center figure figcaption form
    body caption fieldset nav aside`),
);
const CELLS = new Set(['td', 'th']);

/** Returns the words of a list that is separated by blanks. */
export function wordsOf(list: string): string[] {
  return list.trim().split(/\s+/);
}
