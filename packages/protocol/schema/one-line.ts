/**
 * Returns a text of any origin on one line, as names and titles are (`schema.ts`). A line break
 * would begin another header of a mail, or another entry of a list.
 */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
}
