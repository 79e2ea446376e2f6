import type { texts as administration } from './administration/en.ts';
import type { texts } from './en.ts';

/** The texts that are loaded first. */
export type FirstTexts = typeof texts;
/** The texts of the rooms that are loaded with the administration. */
export type AdministrationTexts = typeof administration;
