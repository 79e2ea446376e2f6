/** Figures as people read them, in the language of the browser. Unknown ones are a dash. */

const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

type Figure = number | null | undefined;

/** Returns a text for a figure of one kind. */
export type Unit = (figure: Figure) => string;

export const whole: Unit = unit((value) => WHOLE.format(value));
export const perSecond: Unit = unit((value) => `${fine(value)}/s`);
export const milliseconds: Unit = unit((value) => `${fine(value)} ms`);
export const lateness: Unit = unit((value) => `${fine(value)} s`);
export const bytes: Unit = unit((value) => `${WHOLE.format(value / 2 ** 20)} MB`);

function unit(text: (value: number) => string): Unit {
  return (figure) => (figure === null || figure === undefined ? '–' : text(figure));
}

function fine(value: number): string {
  return (value < 100 ? FINE : WHOLE).format(value);
}
