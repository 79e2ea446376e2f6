/**
 * A model's text as Postgres, JSON and readers can hold it: U+0000 is left out, a surrogate without its partner
 * becomes U+FFFD, and a pair that came in two pieces leaves in one. What comes out is what counts: readers'
 * offsets and hashes are of it.
 */
export class TextCleaner {
  #half = '';

  push(text: string): string {
    const whole = (this.#half + text).replaceAll('\0', '');
    const isCut = /[\ud800-\udbff]$/.test(whole);
    this.#half = isCut ? whole.slice(-1) : '';
    return (isCut ? whole.slice(0, -1) : whole).toWellFormed();
  }

  /** What was held back for a partner that did not come. */
  end(): string {
    const rest = this.#half.toWellFormed();
    this.#half = '';
    return rest;
  }
}

/** Of a text that came in one piece. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** Without anything that begins a new line. */
export function oneLine(text: string): string {
  return text.replace(/[\s\u0085]+/g, ' ').trim();
}

/** At most `length` UTF-16 units, no pair split. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}
