/**
 * Matches a letter or mark of a script whose words have no spaces between them, or one of the
 * punctuation that is as wide as such a letter.
 */
export const WITHOUT_SPACES = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\p{scx=Yiii}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\u3000-\u303f\uff00-\uffef]`;

/** Returns the character, of one or two units, that begins at a position; "" at the end. */
export function characterAt(text: string, at: number): string {
  return at < text.length ? String.fromCodePoint(text.codePointAt(at)!) : '';
}

/** Returns the character, of one or two units, before a position; "" at the beginning. */
export function characterBefore(text: string, at: number): string {
  const pair = at < 2 ? '' : characterAt(text, at - 2);
  return pair.length === 2 ? pair : text.slice(Math.max(0, at - 1), at);
}
