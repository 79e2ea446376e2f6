import { nearestLanguage } from '@parley/protocol/resources/nearest-language.ts';

/** The languages of the console, by their own names. */
export const LANGUAGES = { de: 'Deutsch', en: 'English' } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = 'parley-language';

/** Returns the language that this browser keeps; null: the console follows the browser. */
export function keptLanguage(): Language | null {
  const kept = localStorage.getItem(KEY);
  return kept !== null && Object.hasOwn(LANGUAGES, kept) ? (kept as Language) : null;
}

/** Keeps a language in this browser, and loads the page again in it. Null follows the browser. */
export function changeLanguage(language: Language | null): void {
  if (language === null) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, language);
  location.reload();
}

/** Returns the language in which the console is shown. */
export function wantedLanguage(): Language {
  const wanted = [keptLanguage() ?? '', ...navigator.languages];
  return nearestLanguage(Object.keys(LANGUAGES) as Language[], wanted);
}
