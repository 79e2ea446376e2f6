import { nearestLanguage } from './nearest-language.ts';

/** The languages that the widget is written in; each has its own texts. */
export const WIDGET_LANGUAGES = [
  'en',
  'ar',
  'de',
  'es',
  'fr',
  'it',
  'ja',
  'nl',
  'pl',
  'pt',
  'tr',
  'zh',
] as const;
export type WidgetLanguage = (typeof WIDGET_LANGUAGES)[number];

/** Returns the direction in which a language is written. */
export function directionOf(language: WidgetLanguage): 'ltr' | 'rtl' {
  return language === 'ar' ? 'rtl' : 'ltr';
}

/**
 * Returns the widget's language that is nearest to the wanted ones, of which the first is wanted
 * most.
 */
export function languageOf(wanted: readonly string[]): WidgetLanguage {
  return nearestLanguage(WIDGET_LANGUAGES, wanted);
}
