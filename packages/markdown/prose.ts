import type { Block, Inline } from './parts.ts';
import { readMarkdown } from './read-markdown.ts';

/**
 * Returns the prose of a Markdown text: the words of its author, line by line. Quotes, code, links
 * and literal text (`\@`, `<pre>`) are left out, each with a blank in its place.
 */
export function proseOf(text: string): string {
  return readMarkdown(text).map(proseOfBlock).join('\n');
}

function proseOfBlock(block: Block): string {
  switch (block.type) {
    case 'gap':
    case 'rule':
    case 'code':
    case 'quote':
      return '';
    case 'list':
      return block.items.flatMap(({ blocks }) => blocks.map(proseOfBlock)).join('\n');
    case 'table':
      return block.rows.flatMap((cells) => cells.map(proseOfParts)).join('\n');
    default:
      return proseOfParts(block.inner);
  }
}

function proseOfParts(parts: readonly Inline[]): string {
  return parts
    .map((part) => {
      if (part.type === 'break') return '\n';
      if (part.type === 'code' || part.type === 'link') return ' ';
      if ('inner' in part) return proseOfParts(part.inner);
      // An escaped character within a name belongs to the name.
      return part.isLiteral && (part.text === '@' || part.text.length > 1) ? ' ' : part.text;
    })
    .join('');
}
