import type { Block, Inline } from './parts.ts';
import { readMarkdown } from './read-markdown.ts';

/** Returns Markdown as one line of plain text, for lists: at most 280 UTF-16 units. */
export function plainLine(text: string): string {
  return wordsAlone(text) ?? readLine(begin(text, READ));
}

/**
 * Returns the line of a text that begins without Markdown, as most do; undefined if it may have
 * some.
 */
function wordsAlone(text: string): string | undefined {
  const start = begin(text, ENOUGH);
  if (MARKS.test(start)) return;
  const line = shortened(start);
  return line.length >= SHOWN - 1 || start === text ? line : undefined;
}

function readLine(part: string): string {
  const words = readMarkdown(part).map(lineOf).join(' ').trim();
  // A thematic break has no words.
  return shortened(words || part);
}

/** Returns a text that is no Markdown as one line, at most 280 UTF-16 units. */
export function shortened(text: string): string {
  const part = begin(text, READ);
  return begin((UNEVEN.test(part) ? part.replace(/\s+/g, ' ') : part).trim(), SHOWN);
}

/** White space that is not one blank between words. */
const UNEVEN = /[^\S ]| {2}/;

/** Returns the first UTF-16 units of a text, and no half of a character. */
function begin(text: string, units: number): string {
  if (text.length <= units) return text;
  const isCut = text.codePointAt(units - 1)! > 0xffff;
  return text.slice(0, isCut ? units - 1 : units);
}

/** Whatever may be Markdown: a text without it is shown as it is written. */
const MARKS = /[*_`~<[&\\|]|(?:^|[\r\n\u2028\u2029])[ \t]*(?:[-+=#>:]|\d+[.)])/;

const READ = 600;
/** As much as most lines need: a few of the words are cut again. */
const ENOUGH = 300;
/** Twice the characters of a notification's preview: emoji are two units each. */
const SHOWN = 280;

function lineOf(block: Block): string {
  switch (block.type) {
    case 'gap':
    case 'rule':
      return '';
    case 'code':
      return block.text;
    case 'quote':
      return block.blocks.map(lineOf).join(' ');
    case 'list':
      return block.items.flatMap(({ blocks }) => blocks.map(lineOf)).join(' ');
    case 'table':
      return block.rows.map((cells) => cells.map(wordsOf).join(' ')).join(' ');
    default:
      return wordsOf(block.inner);
  }
}

/** Returns the words of parts, without marks and addresses; a line break is a blank. */
export function wordsOf(parts: readonly Inline[]): string {
  return parts
    .map((part) => ('inner' in part ? wordsOf(part.inner) : part.type === 'break' ? ' ' : part.text))
    .join('');
}
