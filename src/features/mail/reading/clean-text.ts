/**
 * Text that Postgres can store and that shows as it is: line breaks are LF, and no control
 * characters or halves of characters are in it.
 */
export function cleanText(text: string): string {
  return text.replace(LINE_BREAKS, '\n').replace(CONTROLS, '').toWellFormed();
}

/** The same on one line. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim();
}

/** At most `most` UTF-16 code units, without half a character at the end. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(0, most);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

const LINE_BREAKS = /\r\n?|[\f\v\u0085\u2028\u2029]/g;
/** All but tab and line feed, and marks of byte order. */
const CONTROLS = /[^\P{Cc}\t\n]|\ufeff/gu;
