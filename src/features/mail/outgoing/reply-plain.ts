import type { Block, Inline, ListBlock } from '@parley/markdown/parts.ts';
import { wordsOf } from '@parley/markdown/plain-line.ts';

/**
 * Returns the lines of a text in a mail that shows no HTML: without marks of emphasis and code,
 * with its blanks and empty lines, and with the address behind the text of a link.
 */
export function plainOf(blocks: readonly Block[]): string {
  return blocks.map(blockOf).join('\n');
}

function blockOf(block: Block): string {
  switch (block.type) {
    case 'gap':
      return '\n'.repeat(block.lines - 1);
    case 'rule':
      return '---';
    case 'code':
      return block.text;
    case 'quote':
      return begun(plainOf(block.blocks), '> ', '> ');
    case 'list':
      return listOf(block);
    case 'table':
      return block.rows.map((cells) => cells.map(inlinesOf).join(' | ')).join('\n');
    default:
      return inlinesOf(block.inner);
  }
}

function listOf({ isLoose, items }: ListBlock): string {
  const lines = items.map(({ number, isDone, blocks }) => {
    const mark = number === null ? '- ' : `${number}. `;
    const task = isDone === null ? '' : isDone ? '[x] ' : '[ ] ';
    return begun(`${task}${plainOf(blocks)}`, mark, ' '.repeat(mark.length));
  });
  return lines.join(isLoose ? '\n\n' : '\n');
}

/**
 * Begins the first line with one text and the others with another, without blanks at their ends.
 */
function begun(text: string, first: string, others: string): string {
  return text
    .split('\n')
    .map((line, index) => `${index === 0 ? first : others}${line}`.trimEnd())
    .join('\n');
}

function inlinesOf(parts: readonly Inline[]): string {
  return parts
    .map((part) => {
      switch (part.type) {
        case 'break':
          return '\n';
        case 'link':
          return linkOf(part.href, wordsOf(part.inner), part.title);
        case 'del':
          // Without its marks it would say the opposite.
          return `~~${inlinesOf(part.inner)}~~`;
        case 'strong':
        case 'em':
          return inlinesOf(part.inner);
        default:
          return part.text;
      }
    })
    .join('');
}

function linkOf(href: string, words: string, title: string | null): string {
  const isItself = [words, `http://${words}`, `mailto:${words}`].includes(href);
  if (isItself && title === null) return words;
  return `${words} (${[href, title].filter((part) => part !== null).join(', ')})`;
}
