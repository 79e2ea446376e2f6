/**
 * Returns a text of any origin as the one line that names and titles are (`schema.ts`). A
 * line break would begin another header of a mail, or another entry of a list.
 */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
}
