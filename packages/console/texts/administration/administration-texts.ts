import type { texts } from './en.ts';

/** The texts of the rooms that are loaded with the administration. */
export type AdministrationTexts = typeof texts;
