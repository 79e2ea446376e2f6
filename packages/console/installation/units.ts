/** Figures as people read them. Unknown ones are a dash. */

import { inLanguage } from '@parley/ui/text/language.ts';

const formats = inLanguage((locale) => ({
  whole: new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }),
  fine: new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }),
}));

type Figure = number | null | undefined;

/** Returns a text for a figure of one kind. */
export type Unit = (figure: Figure) => string;

export const whole: Unit = unit((value) => formats().whole.format(value));
export const perSecond: Unit = unit((value) => `${fine(value)}/s`);
export const milliseconds: Unit = unit((value) => `${fine(value)} ms`);
export const lateness: Unit = unit((value) => `${fine(value)} s`);
export const bytes: Unit = unit((value) => `${formats().whole.format(value / 2 ** 20)} MB`);

function unit(text: (value: number) => string): Unit {
  return (figure) => (figure === null || figure === undefined ? '–' : text(figure));
}

function fine(value: number): string {
  return (value < 100 ? formats().fine : formats().whole).format(value);
}
