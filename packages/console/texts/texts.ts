import { writeIn } from '@parley/ui/text/language.ts';
import { wordComponents } from '@parley/ui/texts/ui-texts.ts';
import type { AdministrationTexts } from './administration/administration-texts.ts';
import type { FirstTexts } from './first-texts.ts';
import type { Language } from './languages.ts';

interface Files {
  readonly first: () => Promise<{ readonly texts: FirstTexts }>;
  readonly administration: () => Promise<{ readonly texts: AdministrationTexts }>;
}

const FILES: Readonly<Record<Language, Files>> = {
  de: { first: () => import('./de.ts'), administration: () => import('./administration/de.ts') },
  en: { first: () => import('./en.ts'), administration: () => import('./administration/en.ts') },
};

/**
 * The texts of the console, a section for each of its folders. They are there before the modules
 * that use them are loaded: those of the administration once `loadAdministrationTexts` has
 * returned, all others from the start (`main.tsx`).
 */
export const texts = {} as FirstTexts & AdministrationTexts;

let language: Language = 'en';

/**
 * Loads the texts of a language, and returns which it is: English if the wanted one cannot be
 * loaded.
 */
export async function loadTexts(wanted: Language): Promise<Language> {
  const english = async () => ['en', await FILES.en.first()] as const;
  const [loaded, file] = await FILES[wanted].first().then((own) => [wanted, own] as const, english);
  speak(loaded, file.texts);
  return loaded;
}

/** Loads the texts of the administration, in the language of the page. */
export async function loadAdministrationTexts(): Promise<void> {
  const { texts: loaded } = await FILES[language].administration();
  Object.assign(texts, loaded);
  wordComponents({ names: loaded.contract });
}

/** Has the console in a language from now on. */
export function speak(spoken: Language, first: FirstTexts): void {
  language = spoken;
  Object.assign(texts, first);
  wordComponents(first.ui);
  writeIn(spoken);
}
