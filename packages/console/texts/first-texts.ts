import type { texts } from './en.ts';

/** The texts that are loaded first. */
export type FirstTexts = typeof texts;
