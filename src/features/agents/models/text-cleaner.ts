/**
 * Makes a model's text safe for Postgres, JSON and readers: removes U+0000, makes a lone surrogate
 * U+FFFD, and joins a pair split across chunks. Readers' offsets and hashes refer to this text.
 */
export class TextCleaner {
  #half = '';

  push(text: string): string {
    const whole = (this.#half + text).replaceAll('\0', '');
    const isCut = /[\ud800-\udbff]$/.test(whole);
    this.#half = isCut ? whole.slice(-1) : '';
    return (isCut ? whole.slice(0, -1) : whole).toWellFormed();
  }

  /** Returns the first half of a pair whose second half did not arrive, cleaned. */
  end(): string {
    const rest = this.#half.toWellFormed();
    this.#half = '';
    return rest;
  }
}

/** Cleans a text that arrived in one piece. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** Replaces everything that begins a new line. */
export function oneLine(text: string): string {
  return text.replace(/[\s\u0085]+/g, ' ').trim();
}

/** Returns at most `length` UTF-16 units, without splitting a pair. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}
