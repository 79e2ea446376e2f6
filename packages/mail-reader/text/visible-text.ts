import { attributionOf, canEndAttribution, MAX_ATTRIBUTION_LINES } from './attribution.ts';
import { isDeviceLine } from './device-line.ts';
import { isForwardMark, isMailHead, isOriginalMark, MAX_HEAD_LINES } from './mail-head.ts';

/**
 * Returns the text that a person wrote in an answer: without what clients quote below an
 * attribution or a head of their own, without a signature below `-- ` (RFC 3676) and without the
 * line of a device. Everything else stays, quotes that a person introduces and forwarded mails
 * among it. Returns the whole text if nothing would be left, or answers stand between quotes.
 */
export function visibleText(text: string): string {
  const lines = text.split('\n');
  const { start, isForwarded } = historyOf(lines);
  const own = withoutDeviceLine(withoutQuotes(withoutSignature(lines.slice(0, start))));
  const visible = [...own, ...(isForwarded ? lines.slice(start) : [])].join('\n').trim();
  return visible === '' ? text.trim() : visible;
}

interface History {
  /** The first line below the person's own. */
  readonly start: number;
  readonly isForwarded: boolean;
}

/** Finds an answered mail without quote marks, or a forwarded mail. */
function historyOf(lines: readonly string[]): History {
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '' || isQuote(line)) continue;
    if (isForwardMark(line)) return { start: index, isForwarded: true };
    const start = startOfHistory(lines, index);
    if (start !== null && !isIntroduced(lines, start)) return { start, isForwarded: false };
  }
  return { start: lines.length, isForwarded: false };
}

/** Returns the first line of the history whose head or attribution is here, or null if none is. */
function startOfHistory(lines: readonly string[], index: number): number | null {
  if (isMailHead(lines.slice(index, index + MAX_HEAD_LINES))) return ruleAbove(lines, index);
  return isOriginalMark(lines[index] ?? '') || isAttributionOfUnmarked(lines, index) ? index : null;
}

/** Returns the start of a head, with the line of underscores or dashes above it. */
function ruleAbove(lines: readonly string[], index: number): number {
  let start = index;
  while (start > 0 && /^\s*([_-]{5,}\s*)?$/.test(lines[start - 1] ?? '')) start -= 1;
  return start;
}

/** Without quote marks below, only a sure attribution ends the text. */
function isAttributionOfUnmarked(lines: readonly string[], index: number): boolean {
  for (let end = index + 1; end <= index + MAX_ATTRIBUTION_LINES && end <= lines.length; end += 1) {
    const last = lines[end - 1] ?? '';
    if (last.trim() === '') return false;
    if (!canEndAttribution(last)) continue;
    if (attributionOf(lines.slice(index, end).join(' ')) !== 'sure') continue;
    // It may begin on the next line, below a short line of the person.
    if (attributionOf(lines.slice(index + 1, end).join(' ')) !== 'none') return false;
    const below = lines.slice(end, end + 6).find((line) => line.trim() !== '');
    return below !== undefined && !isQuote(below);
  }
  return false;
}

/** Returns whether a person presents what follows: a word and a colon end the text above. */
function isIntroduced(lines: readonly string[], index: number): boolean {
  let above = index - 1;
  while (above >= 0 && (lines[above] ?? '').trim() === '') above -= 1;
  return /[^\s:][:：]\s*$/.test((lines[above] ?? '').replace(EMOJI_NAME, ''));
}

function withoutSignature(lines: readonly string[]): readonly string[] {
  const at = lines.lastIndexOf('-- ');
  if (at === -1) return lines;
  const after = lines.slice(at + 1);
  const quote = after.findIndex(isQuote);
  const signature = quote === -1 ? after : after.slice(0, quote);
  // The line can also separate parts of the text.
  if (signature.filter((line) => line.trim() !== '').length > MAX_SIGNATURE_LINES) return lines;
  const rest = quote === -1 ? [] : after.slice(quote - linesOfAttribution(after, quote));
  return [...lines.slice(0, at), ...rest];
}

/** Removes the last quote, or the only one above an answer, if it has an attribution. */
function withoutQuotes(lines: readonly string[]): readonly string[] {
  const quotes = quotesOf(lines);
  const last = quotes.at(-1);
  if (last === undefined || !last.isAttributed) return lines;
  const [above, below] = [lines.slice(0, last.start), lines.slice(last.end)];
  const next = below.find((line) => line.trim() !== '');
  // A signature without the blank that RFC 3676 demands stays, but answers nothing.
  if (next === undefined || /^--\s*$/.test(next)) return [...above, ...below];
  return quotes.length === 1 && above.every((line) => line.trim() === '') ? below : lines;
}

/** A run of quoted lines, with the attribution above it. */
interface Quote {
  readonly start: number;
  readonly end: number;
  readonly isAttributed: boolean;
}

function quotesOf(lines: readonly string[]): Quote[] {
  const quotes: Quote[] = [];
  let at = 0;
  while (at < lines.length) {
    if (!isQuote(lines[at] ?? '')) {
      at += 1;
      continue;
    }
    let end = at;
    for (let next = at; next < lines.length; next += 1) {
      if (isQuote(lines[next] ?? '')) end = next + 1;
      else if ((lines[next] ?? '').trim() !== '') break;
    }
    const start = at - linesOfAttribution(lines, at);
    quotes.push({ start, end, isAttributed: start < at || beginsWithHistory(lines.slice(at, end)) });
    at = end;
  }
  return quotes;
}

/** Returns how many lines above a quote are its attribution, with the blank ones in between. */
function linesOfAttribution(lines: readonly string[], quote: number): number {
  let last = quote - 1;
  while (last >= 0 && last > quote - 6 && (lines[last] ?? '').trim() === '') last -= 1;
  // An address whose end was wrapped, which looks like the first quoted line.
  if (/<[^<>]*$/.test(lines[last] ?? '')) last = quote;
  for (let first = last; first > last - MAX_ATTRIBUTION_LINES && first >= 0; first -= 1) {
    if ((lines[first] ?? '').trim() === '' || (first < quote && isQuote(lines[first] ?? ''))) break;
    const isOne = attributionOf(lines.slice(first, last + 1).join(' ')) !== 'none';
    if (isOne && !isIntroduced(lines, first)) return quote - first;
  }
  return 0;
}

/** Returns whether the attribution or the head is quoted too, as some clients have it. */
function beginsWithHistory(quoted: readonly string[]): boolean {
  const inner = quoted.slice(0, MAX_HEAD_LINES).map((line) => line.replace(/^\s{0,3}> ?/, ''));
  const first = inner.findIndex((line) => line.trim() !== '');
  const head = first === -1 ? [] : inner.slice(first);
  if (isMailHead(head) || isOriginalMark(head[0] ?? '')) return true;
  return head
    .slice(0, MAX_ATTRIBUTION_LINES)
    .some((_, index) => attributionOf(head.slice(0, index + 1).join(' ')) !== 'none');
}

function withoutDeviceLine(lines: readonly string[]): readonly string[] {
  const end = lines.findLastIndex((line) => line.trim() !== '');
  return end !== -1 && isDeviceLine(lines[end] ?? '') ? lines.slice(0, end) : lines;
}

function isQuote(line: string): boolean {
  return /^\s{0,3}>/.test(line);
}

const MAX_SIGNATURE_LINES = 15;
/** Such as `:+1:`. */
const EMOJI_NAME = /:[\w+-]+:\s*$/;
