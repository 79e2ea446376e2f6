/**
 * The language in which pages write dates and numbers: that of the browser, unless a page chooses.
 */

let locale: string | undefined;

/**
 * Writes dates and numbers in a language from now on. Where the browser prefers a variant of that
 * language, such as `en-GB`, its habits hold.
 */
export function writeIn(language: string): void {
  locale = navigator.languages.find((own) => own.split('-')[0] === language) ?? language;
}

/** Returns a function that makes a format when it is first used in a language, and keeps it. */
export function inLanguage<Format>(make: (locale: string | undefined) => Format): () => Format {
  let kept: { readonly format: Format; readonly of: string | undefined } | undefined;
  return () => {
    if (kept === undefined || kept.of !== locale) kept = { format: make(locale), of: locale };
    return kept.format;
  };
}
