import type { Block, Inline } from './parts.ts';
import { readMarkdown } from './read-markdown.ts';

/** Returns Markdown as one line of plain text, for lists: at most some 200 characters. */
export function plainLine(text: string): string {
  const part = text.slice(0, READ);
  const words = readMarkdown(part).map(lineOf).join(' ').trim();
  // A thematic break has no words.
  return shortened(words || part);
}

/** Returns a text that is no Markdown as one line, at most some 200 characters. */
export function shortened(text: string): string {
  return text.slice(0, READ).replace(/\s+/g, ' ').trim().slice(0, SHOWN);
}

const READ = 600;
const SHOWN = 200;

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
