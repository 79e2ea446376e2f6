import type { texts } from './en.ts';

/** The words of the components in a language. */
export type UiTexts = typeof texts;

/**
 * The words of the components in the language of the page, which gives them before it draws: those
 * of the components that it uses.
 */
export const uiTexts = {} as UiTexts;

/** Gives the components their words. */
export function wordComponents(texts: Partial<UiTexts>): void {
  Object.assign(uiTexts, texts);
}
