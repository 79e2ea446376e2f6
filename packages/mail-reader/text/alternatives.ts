/** Which form of a text says all of it, where a mail has it as plain text and as HTML. */

/**
 * Returns whether the plain text of a mail says all that its HTML does. It does not where a line of
 * `rich`, the text of the HTML, is not in it, as in "This mail needs an HTML client", in an
 * excerpt, or where tables were left out; nor where it is the source of the HTML.
 */
export function isWhole(plain: string, rich: string): boolean {
  const all = lettersOf(plain);
  // Who writes about HTML has the same tags in both.
  if (isSource(plain) && !lettersOf(rich).includes(all)) return false;
  let after = 0;
  for (const line of rich.split('\n')) {
    const letters = lettersOf(line);
    // In pieces, since a long line could be compared at each place.
    for (let at = 0; at < letters.length; at += PIECE) {
      const piece = letters.slice(at, at + PIECE);
      const found = all.indexOf(piece, after);
      if (found === -1) return false;
      after = found + piece.length;
    }
  }
  return true;
}

/** Returns whether a text is the source of HTML from its first to its last tag. */
export function isSource(text: string): boolean {
  return FIRST_TAG.test(text) && LAST_TAG.test(text.slice(-100));
}

const FIRST_TAG = /^\s*<(!doctype\s+html|(html|head|body|div|p|table|center|span|font)[\s>])/i;
const LAST_TAG = /<\/(html|body|div|p|table|center|span|font)\s*>\s*$/i;
const PIECE = 100;

/** Returns letters and digits alone, without what only one of both forms has. */
function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .replace(TARGETS, ' ')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

/** Addresses of links and pictures, and the numbers of links that are listed below a text. */
const TARGETS =
  /(https?:\/\/|mailto:|\b(cid|image):)[^\s<>()[\]]*|\[[^\s[\]]{1,300}@[^\s[\]]{1,300}\]|\[\d{1,3}\]/giu;
