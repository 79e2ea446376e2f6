/**
 * Returns whether a mail has a table of data, whose rows would become lines of text. Tables that
 * only arrange a page have no heads.
 */
export function hasTable(html: string): boolean {
  return /<th[\s>]/i.test(html);
}
