import type { Block, Inline, ListBlock } from '@parley/markdown/parts.ts';
import { escapeHtml } from '../../../platform/plain-text.ts';

/**
 * Returns the HTML of a text in a mail. Its looks are on each element, because mail programs take
 * no others, and blanks are kept as they were written.
 */
export function htmlOf(blocks: readonly Block[]): string {
  return blocks.map(blockOf).join('');
}

function blockOf(block: Block): string {
  switch (block.type) {
    case 'gap':
      // The margin of a paragraph stands for the first line.
      return '<br>'.repeat(block.lines - 1);
    case 'rule':
      return '<hr>';
    case 'code':
      return `<pre style="${APART};padding:8px 12px;background:#f4f4f4;white-space:pre-wrap"><code>${escapeHtml(block.text)}</code></pre>`;
    case 'quote':
      return `<blockquote style="${APART};padding-inline-start:12px;border-inline-start:3px solid #ccc">${htmlOf(block.blocks)}</blockquote>`;
    case 'list':
      return listOf(block);
    case 'table':
      return tableOf(block.rows);
    case 'heading':
      return `<p dir="auto" style="${APART};${KEPT};font-weight:bold">${inlinesOf(block.inner)}</p>`;
    case 'words':
      return `<span style="${KEPT}">${inlinesOf(block.inner)}</span>`;
    case 'paragraph':
      return `<p dir="auto" style="${APART};${KEPT}">${inlinesOf(block.inner)}</p>`;
  }
}

const APART = 'margin:0 0 1em';
const KEPT = 'white-space:pre-wrap';

function listOf({ items }: ListBlock): string {
  const rows = items.map(({ number, isDone, blocks }) => {
    const mark = isDone === null ? '' : isDone ? '☑ ' : '☐ ';
    return `<li${number === null ? '' : ` value="${number}"`}>${mark}${htmlOf(blocks)}</li>`;
  });
  const style = `dir="auto" style="${APART}"`;
  const name = items[0]?.number == null ? 'ul' : 'ol';
  return `<${name} ${style}>${rows.join('')}</${name}>`;
}

function tableOf(rows: readonly (readonly (readonly Inline[])[])[]): string {
  const lines = rows.map((cells, row) => {
    const name = row === 0 ? 'th' : 'td';
    const style = 'padding:4px 8px;border:1px solid #ccc;text-align:start';
    return `<tr>${cells.map((cell) => `<${name} style="${style}">${inlinesOf(cell)}</${name}>`).join('')}</tr>`;
  });
  return `<table style="${APART};border-collapse:collapse">${lines.join('')}</table>`;
}

function inlinesOf(parts: readonly Inline[]): string {
  return parts
    .map((part) => {
      switch (part.type) {
        case 'text':
          return escapeHtml(part.text);
        case 'break':
          return '<br>';
        case 'code':
          return `<code>${escapeHtml(part.text)}</code>`;
        case 'link':
          return anchor(part.href, inlinesOf(part.inner), part.title);
        default:
          return `<${part.type}>${inlinesOf(part.inner)}</${part.type}>`;
      }
    })
    .join('');
}

/** Returns a link around HTML. */
export function anchor(url: string, html: string, title: string | null = null): string {
  return `<a href="${escapeHtml(url)}"${title ? ` title="${escapeHtml(title)}"` : ''}>${html}</a>`;
}
