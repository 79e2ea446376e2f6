import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';
import { en } from './en.ts';
import type { WidgetTexts } from './widget-texts.ts';

/** English comes with the frame; each other language is a file of its own. */
const FILES: Readonly<Record<Exclude<WidgetLanguage, 'en'>, () => Promise<{ readonly texts: WidgetTexts }>>> =
  {
    ar: () => import('./ar.ts'),
    de: () => import('./de.ts'),
    es: () => import('./es.ts'),
    fr: () => import('./fr.ts'),
    it: () => import('./it.ts'),
    ja: () => import('./ja.ts'),
    nl: () => import('./nl.ts'),
    pl: () => import('./pl.ts'),
    pt: () => import('./pt.ts'),
    tr: () => import('./tr.ts'),
    zh: () => import('./zh.ts'),
  };

/** A language with its texts. */
export interface Speech {
  readonly language: WidgetLanguage;
  readonly texts: WidgetTexts;
}

/** Loads the texts of a language. A language that cannot be loaded is replaced by English. */
export async function loadTexts(language: WidgetLanguage): Promise<Speech> {
  if (language === 'en') return ENGLISH;
  return FILES[language]().then(
    ({ texts }) => ({ language, texts }),
    () => ENGLISH,
  );
}

export const ENGLISH: Speech = { language: 'en', texts: en };
