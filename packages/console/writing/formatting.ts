import { type KeyPress, pressedKey } from '@parley/ui/typing/pressed-key.ts';

/** A text with its selection. */
export interface Selected {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A piece of a text that takes the place of another, and the selection afterwards. */
export interface Change {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
  readonly start: number;
  readonly end: number;
}

export type Format = 'bold' | 'italic' | 'strike' | 'code' | 'link' | 'list' | 'quote';

// An underscore within a word means nothing, and scripts without spaces are all one word.
const MARKS = { bold: '**', italic: '*', strike: '~~', code: '`' } as const;

/** Returns the change that formats the selection, or takes the format back. */
export function formatted(selected: Selected, format: Format): Change {
  switch (format) {
    case 'link':
      return linked(selected);
    case 'list':
      return prefixed(selected, '- ');
    case 'quote':
      return prefixed(selected, '> ');
    case 'code':
      return selected.text.slice(selected.start, selected.end).includes('\n')
        ? fenced(selected)
        : marked(selected, MARKS.code);
    default:
      return marked(selected, MARKS[format]);
  }
}

function marked({ text, start, end }: Selected, mark: string): Change {
  const { length } = mark;
  const words = text.slice(start, end);
  const isMarked = text.slice(start - length, start) === mark && text.slice(end, end + length) === mark;
  // One of two asterisks is half of another mark.
  if (isMarked && !(mark === '*' && starsBefore(text, start) === 2)) {
    const from = start - length;
    return { from, to: end + length, insert: words, start: from, end: from + words.length };
  }
  return { from: start, to: end, insert: `${mark}${words}${mark}`, start: start + length, end: end + length };
}

function starsBefore(text: string, end: number): number {
  return /\*{0,3}$/.exec(text.slice(Math.max(0, end - 3), end))![0].length;
}

function fenced({ text, start, end }: Selected): Change {
  const open = start > 0 && text[start - 1] !== '\n' ? '\n```\n' : '```\n';
  const insert = `${open}${text.slice(start, end)}\n\`\`\``;
  return { from: start, to: end, insert, start: start + open.length, end: start + open.length + end - start };
}

/** Links the selection, and selects the address, which is missing. */
function linked({ text, start, end }: Selected): Change {
  const words = text.slice(start, end);
  const isAddress = /^https?:\/\/\S+$/.test(words);
  const [label, address] = isAddress ? ['', words] : [words, 'https://'];
  const insert = `[${label}](${address})`;
  const at = isAddress ? start + 1 : start + label.length + 3;
  return { from: start, to: end, insert, start: at, end: isAddress ? at : at + address.length };
}

/** Begins each line of the selection with the prefix, or none if all have it. */
function prefixed({ text, start, end }: Selected, prefix: string): Change {
  const from = text.lastIndexOf('\n', start - 1) + 1;
  const lines = text.slice(from, end).split('\n');
  const haveIt = lines.every((line) => line.startsWith(prefix));
  const insert = lines.map((line) => (haveIt ? line.slice(prefix.length) : `${prefix}${line}`)).join('\n');
  return { from, to: end, insert, start: from + insert.length, end: from + insert.length };
}

/** Returns the format of a shortcut, or undefined. */
export function formatOf(event: KeyPress): Format | undefined {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return undefined;
  const shortcuts: Readonly<Record<string, Format>> = event.shiftKey
    ? { x: 'strike', u: 'link', 8: 'list', 9: 'quote' }
    : { b: 'bold', i: 'italic', e: 'code' };
  return shortcuts[pressedKey(event).toLowerCase()];
}
