/**
 * Returns text that Postgres can store and clients can show: line breaks are LF, and control
 * characters and lone surrogates are removed.
 */
export function cleanText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(LINE_BREAKS, '\n').replace(CONTROLS, '').toWellFormed();
}

/** Cleans like `cleanText`, but to one line. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim();
}

/** Returns at most `most` UTF-16 code units, without half a character at the end. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(0, most);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

/** Most lines of headers: a test is several times faster than three replacements of nothing. */
const PLAIN = /^[\t\n\x20-\x7e]*$/;
const LINE_BREAKS = /\r\n?|[\f\v\u0085\u2028\u2029]/g;
/** All except tab and line feed, and byte order marks. */
const CONTROLS = /[^\P{Cc}\t\n]|\ufeff/gu;
