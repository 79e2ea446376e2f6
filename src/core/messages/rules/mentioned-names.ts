import { proseOf } from '@parley/markdown/prose.ts';

/**
 * Returns the names after an `@` in a text, in lower case, each once, in their order. Skips
 * code, quotes, the text of links, `\@`, URLs and e-mail addresses.
 */
export function mentionedNames(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  if (!text.includes('@')) return names;
  for (const [word] of proseOf(text).matchAll(/\S+/g)) {
    if (!word.includes('@')) continue;
    const url = URL_START.exec(word);
    for (const { 1: name = '', index } of word.matchAll(NAME)) {
      if (url !== null && index > url.index) break;
      // `@grace@example.org` is an address on another server.
      if (word[index + 1 + name.length] !== '@') names.add(name.toLowerCase());
    }
  }
  return names;
}

/** Matches the start of a URL within a word; the URL extends to the end of the word. */
const URL_START = /[a-z][a-z\d+.-]{0,15}:\/\/|(?<![a-z\d])www\./i;

const ALPHANUMERIC = String.raw`[\p{L}\p{M}\p{N}]`;
/**
 * Characters that may occur within a name, as in an e-mail address, but not at its end: `@grace.`,
 * `**@grace**`. The apostrophe is not among them: `@grace's`.
 */
const WITHIN = '[.!#$%&*+/=?^_{|}~-]';
/** An `@` directly after a name belongs to an e-mail address, or to a URL without a scheme. */
const NAME = new RegExp(
  `(?<!${ALPHANUMERIC}${WITHIN}*)@(${ALPHANUMERIC}+(?:${WITHIN}+${ALPHANUMERIC}+)*)`,
  'gu',
);
