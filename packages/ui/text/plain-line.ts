import type { Token } from 'marked';
import { readMarkdown } from './read-markdown.ts';

/** Returns Markdown as one line of plain text, for lists: at most some 200 characters. */
export function plainLine(text: string): string {
  const part = text.slice(0, READ);
  const words = readMarkdown(part).map(textOf).join(' ').trim();
  // A thematic break has no words.
  return (words || part).replace(/\s+/g, ' ').trim().slice(0, SHOWN);
}

function textOf(token: Token): string {
  if (token.type === 'list') return (token as { items: Token[] }).items.map(textOf).join(' ');
  if (token.type === 'table') {
    const { header, rows } = token as unknown as { header: Cell[]; rows: Cell[][] };
    return [header, ...rows]
      .flat()
      .map(({ tokens }) => tokens.map(textOf).join(''))
      .join(' ');
  }
  if (token.type === 'br') return ' ';
  if (token.type === 'def') return token.raw;
  if ('tokens' in token && token.tokens !== undefined) {
    return token.tokens
      .map(textOf)
      .join(token.type === 'list_item' || token.type === 'blockquote' ? ' ' : '');
  }
  return 'text' in token ? String(token.text) : '';
}

interface Cell {
  readonly tokens: Token[];
}

const READ = 600;
const SHOWN = 200;
