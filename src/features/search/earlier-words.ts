import { type Cutting, runsWith, wordsOf } from './words.ts';

/**
 * Cuts words by folding 1, for entries that do not have the present one yet, and for nodes of the
 * version before, which search by these words alone. A version behind the next one may leave it
 * out.
 */
export const EARLIER: Cutting = {
  fold: (text) =>
    text
      .normalize('NFKC')
      .toUpperCase()
      .toLowerCase()
      .normalize('NFD')
      .replace(MARKS, '')
      .replaceAll('ς', 'σ')
      .normalize('NFC'),
  runs: runsWith(''),
  characters: /.[\u3099\u309a\uff9e\uff9f]*/gsu,
};

/** Returns the words of a document by that folding, or none where they are the present ones. */
export function earlierDocumentWords(text: string): readonly string[] {
  return SAME.test(text) ? [] : wordsOf(text, 'document', EARLIER).map((word) => word.text);
}

const MARKS =
  /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]|[\u0591-\u05c7]|[\u0610-\u061a\u064b-\u065f]|\u0670|\ufe0e|\ufe0f/g;

/** Texts of frequent characters that both fold alike. */
const SAME = new RegExp(
  `^[${[
    // Latin, Greek, Cyrillic.
    String.raw`\0-\xac\xae-\xc5\xc7-\xcf\xd1-\xd7\xd9-\xdd\xdf-\xe5\xe7-\xef\xf1-\xf7\xf9-\xfd\xff-\u010f`,
    String.raw`\u0112-\u0125\u0128-\u0130\u0132-\u0140\u0143-\u0148\u014c-\u0151\u0154-\u0165\u0168-\u017f`,
    String.raw`\u0384-\u0482\u048a-\u052f`,
    // Punctuation, kana, Han, Hangul, emoji.
    String.raw`\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u2bff\u3000-\u303f\u3041-\u3096\u30a0-\u30ff`,
    String.raw`\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff9d\u{1f300}-\u{1faff}`,
  ].join('')}]*$`,
  'u',
);
