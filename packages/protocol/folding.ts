/**
 * The folding by which words are found: in the index of the search, by `q` of lists, and in the
 * lists of the pages (docs/contract.md#how-words-are-compared).
 */

/**
 * The number of this folding, which each entry of an index has. A change of what folds counts it
 * up; entries with a lower number are written again.
 */
export const FOLDING = 2;

/**
 * Returns the text in the form for comparison: NFKC without case, accents, marks that are not seen
 * and variants of letters, with the digits of every script as 0 to 9. Text that is folded already
 * comes back unchanged. The length differs from that of the text.
 */
export function fold(text: string): string {
  if (isPlain(text)) return text.toLowerCase();
  if (FOLDED.test(text)) return text;
  return (
    text
      .normalize('NFKD')
      .replace(ANY_UNCOUNTED, '')
      // Through upper case, so that ß and ẞ become ss, and ı becomes i.
      .toLowerCase()
      .toUpperCase()
      .toLowerCase()
      .replace(VARIANTS, (variant) => FORMS.get(variant) ?? digitOf(variant))
      .normalize('NFC')
  );
}

/** Returns whether the text contains the words, both folded. */
export function hasWords(text: string, words: string): boolean {
  return fold(text).includes(fold(words));
}

/** Returns whether the text is plain ASCII, of which case alone folds. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

const PLAIN = /^[\t\r\n\x20-\x7e]*$/;
/** Text of Thai, kana, Han and Hangul that is folded already: to fold took half of their time. */
const FOLDED =
  /^[\u0e01-\u0e32\u0e34-\u0e37\u0e40-\u0e47\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]*$/;

/**
 * The inside of a pattern's class: characters that do not count. They are not seen, such as soft
 * hyphens, joiners and the tatweel, or are marks that readers omit. Marks of other scripts are
 * vowels.
 */
export const UNCOUNTED = [
  String.raw`\p{Default_Ignorable_Code_Point}\u0640`,
  // Latin, Greek and Cyrillic.
  String.raw`\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f`,
  // Hebrew.
  String.raw`\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7`,
  // Arabic.
  String.raw`\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed`,
  String.raw`\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff`,
].join('');

const ANY_UNCOUNTED = new RegExp(`[${UNCOUNTED}]`, 'gu');

/** The form of each character that does not decompose into it. Both are lower case. */
const FORMS = new Map(
  Object.entries({
    // Latin letters with a stroke or a hook, and those of two letters.
    a: 'ⱥ',
    b: 'ƀɓ',
    c: 'ȼƈ',
    d: 'đðɖɗ',
    e: 'ɇɛ',
    f: 'ƒ',
    g: 'ǥɠ',
    h: 'ħⱨ',
    i: 'ɨɩ',
    j: 'ɉ',
    k: 'ƙⱪ',
    l: 'łƚɫⱡ',
    n: 'ŋɲƞ',
    o: 'øɵɔ',
    p: 'ᵽƥ',
    r: 'ɍɽ',
    s: 'ʂȿ',
    t: 'ŧƭʈⱦ',
    u: 'ʉ',
    v: 'ʋ',
    w: 'ⱳ',
    y: 'ɏƴ',
    z: 'ƶȥɀⱬ',
    ae: 'æ',
    oe: 'œ',
    th: 'þ',
    // The letter at the end of a Greek word.
    σ: 'ς',
    // Arabic and Persian forms of one letter.
    ا: 'ٱٲٳ',
    ه: 'ةەہھۃ',
    ك: 'کڪ',
    ي: 'ىیے',
    // Punctuation that keyboards and programs replace.
    "'": '‘’‛ʻʼ׳',
    '"': '“”„‟«»״',
    '-': '‐‒–—―−־',
  }).flatMap(([form, variants]) => [...variants].map((variant) => [variant, form] as const)),
);

const VARIANTS = new RegExp(`[${[...FORMS.keys()].join('')}]|[^\\P{Nd}0-9]`, 'gu');

/** Returns the digit of a digit of any script; those of a script follow each other from 0 to 9. */
function digitOf(digit: string): string {
  const point = digit.codePointAt(0)!;
  let zero = point;
  while (IS_DIGIT.test(String.fromCodePoint(zero - 1))) zero--;
  return String((point - zero) % 10);
}

const IS_DIGIT = /^\p{Nd}$/u;
