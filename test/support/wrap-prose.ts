import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/**
 * Wraps comments and the prose of Markdown at 100 columns. The formatter wraps code alone. Only a
 * paragraph that has a longer line is wrapped again, so that a diff shows what was written.
 * `npm run format` calls this file; `test/docs.test.ts` finds what it would change.
 */
export function wrapProse(path: string, text: string): string {
  return path.endsWith('.md') ? wrapMarkdown(text) : wrapComments(text);
}

/** Returns the paths, from the root of the checkout, of the files with our prose. */
export function filesWithProse(): string[] {
  const listed = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
  return listed.filter(
    (path) => /\.(md|ts|js|cjs|mjs|css)$/.test(path) && !KEPT.test(path) && existsSync(path),
  );
}

/** Databases know the migrations' checksums; the other files are output. */
const KEPT = /^migrations\/|^test\/db\/earlier|^bench\/results\/|^docs\/decisions\.md$/;

function wrapMarkdown(text: string): string {
  const out: string[] = [];
  let paragraph: string[] = [];
  let isCode = false;
  const flush = () => {
    out.push(...(isWide(paragraph) ? wrapParagraph(paragraph) : paragraph));
    paragraph = [];
  };
  for (const line of text.split('\n')) {
    if (FENCE.test(line)) isCode = !isCode;
    if (isCode || FENCE.test(line) || NO_PROSE.test(line)) {
      flush();
      out.push(line);
    } else {
      if (ITEM.test(line)) flush();
      paragraph.push(line);
    }
  }
  flush();
  return out.join('\n');
}

function wrapParagraph(lines: readonly string[]): string[] {
  const [, indent = '', marker = ''] = PARAGRAPH.exec(lines[0]!)!;
  const isQuote = marker.startsWith('>');
  const words = lines.map((line, place) => {
    if (place === 0) return line.slice(indent.length + marker.length);
    return isQuote ? line.replace(/^\s*>\s+/, '') : line.trim();
  });
  const rest = indent + (isQuote ? marker : ' '.repeat(marker.length));
  return wrap(words.join(' '), indent + marker, rest);
}

function wrapComments(text: string): string {
  const lines = text.split('\n');
  const out: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const [, indent = '', words] = ONE_LINE_BLOCK.exec(line) ?? [];
    const end = BLOCK_START.test(line)
      ? lines.findIndex((one, place) => place > at && /\*\/\s*$/.test(one))
      : -1;
    const body = lines.slice(at + 1, Math.max(end, at + 1));
    const run = lineComments(lines, at);
    if (words !== undefined && isWide([line])) {
      out.push(`${indent}/**`, ...wrap(words, `${indent} * `, `${indent} * `), `${indent} */`);
    } else if (
      body.length > 0 &&
      body.every((one) => /^\s*\*( |$)/.test(one)) &&
      /^\s*\*\/$/.test(lines[end]!)
    ) {
      out.push(line, ...wrapLines(body, `${/^\s*/.exec(body[0]!)![0]}* `), lines[end]!);
      at = end;
    } else if (run.length > 0) {
      out.push(...wrapLines(run, `${/^\s*/.exec(line)![0]}// `));
      at += run.length - 1;
    } else out.push(line);
  }
  return out.join('\n');
}

/** Returns the comment of whole lines that begins at this line, if any. */
function lineComments(lines: readonly string[], at: number): string[] {
  const [prefix] = /^\s*\/\/ /.exec(lines[at]!) ?? [];
  if (prefix === undefined) return [];
  let end = at;
  while (lines[end]?.startsWith(prefix)) end += 1;
  return lines.slice(at, end);
}

/** Wraps the paragraphs of a comment whose lines begin with `prefix`, or are empty after it. */
function wrapLines(lines: readonly string[], prefix: string): string[] {
  const out: string[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (isWide(paragraph)) {
      const words = paragraph.map((line) => line.slice(prefix.length));
      const [marker] = ITEM.exec(words[0]!) ?? [''];
      const text = [words[0]!.slice(marker.length), ...words.slice(1).map((line) => line.trim())].join(' ');
      out.push(...wrap(text, prefix + marker, prefix + ' '.repeat(marker.length)));
    } else out.push(...paragraph);
    paragraph = [];
  };
  for (const line of lines) {
    const words = line.slice(prefix.length);
    const isItem = ITEM.test(words);
    const continuesItem = /^ {2,3}\S/.test(words) && ITEM.test(paragraph[0]?.slice(prefix.length) ?? '');
    if (isItem) flush();
    if (isItem || continuesItem || (words.trim() !== '' && !/^ {2,}\S|^\s*[|@{]/.test(words)))
      paragraph.push(line);
    else {
      flush();
      out.push(line);
    }
  }
  flush();
  return out;
}

function isWide(lines: readonly string[]): boolean {
  return lines.some((line) => line.length > COLUMNS && / \S+ /.test(line.trim()));
}

/** Wraps a text. Words that would begin a list, a heading or a table stay on the line before. */
function wrap(text: string, first: string, rest: string): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  // Code spans and links stay on one line.
  for (const [word] of text.matchAll(/(?:`[^`]*`|\[[^\]\s]*\]\([^)]*\)|[^\s`])+/g)) {
    if (!isEmpty && line.length + 1 + word.length > COLUMNS && !/^([-*+>#|]|#+|\d+[.)])$/.test(word)) {
      lines.push(line);
      line = rest + word;
    } else line += (isEmpty ? '' : ' ') + word;
    isEmpty = false;
  }
  return [...lines, line];
}

const COLUMNS = 100;
const FENCE = /^\s*```/;
/** Blank lines, headings, tables, HTML, images, rules, and lines that end with a break. */
const NO_PROSE = /^\s*$|^#|^\s*\||^\s*<|^!\[|^---| {2}$|\\$/;
const ITEM = /^\s*(?:[-*]|\d+\.)\s+/;
const PARAGRAPH = /^(\s*)((?:[-*]|\d+\.)\s+|>\s+)?/;
const ONE_LINE_BLOCK = /^(\s*)\/\*\*? (.*) \*\/$/;
const BLOCK_START = /^\s*\/\*\*?$/;

if (import.meta.main ?? process.argv[1] === import.meta.filename) {
  for (const path of filesWithProse()) {
    const text = readFileSync(path, 'utf8');
    const wrapped = wrapProse(path, text);
    if (wrapped !== text) writeFileSync(path, wrapped);
  }
}
