import { inLanguage } from './language.ts';

const formats = inLanguage((locale) =>
  ['byte', 'kilobyte', 'megabyte', 'gigabyte'].map(
    (unit) =>
      new Intl.NumberFormat(locale, {
        style: 'unit',
        unit,
        unitDisplay: unit === 'byte' ? 'long' : 'short',
        maximumFractionDigits: 1,
      }),
  ),
);

/** Returns the size of a file as people read it. */
export function sizeText(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return formats()[power]!.format(bytes / 1_000 ** power);
}
