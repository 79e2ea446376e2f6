import type { en } from './en.ts';

/** The widget's own texts in a language. */
export type WidgetTexts = typeof en;
