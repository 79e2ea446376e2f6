import type { Bars } from './bars.ts';
import { escaped, linearTicks, shortened } from './svg-plot.ts';

const WIDTH = 760;
const LEFT = 150;
const RIGHT = 70;
const TOP = 48;
const BAR = { height: 30, step: 44 };
const LINE = 20;
const COLUMN = 120;
/** Neighbours differ in lightness too. */
const COLORS = [
  '#9aa5b1',
  '#d8dde3',
  '#0b5fa5',
  '#7fb6e6',
  '#b3541e',
  '#eab08a',
  '#3d7a3d',
  '#a3cfa3',
  '#6a4c93',
  '#c3b1dc',
  '#a8323e',
  '#e79aa2',
  '#8a6d1d',
  '#e0cb83',
  '#444444',
];

/**
 * Draws bars as an SVG of its own, like curves: below them a table with the colour, the name and
 * the values of each part.
 */
export function drawBars({ title, unit, parts, bars }: Bars): string {
  const names = parts.filter((part) => bars.some(({ values }) => values[part] !== undefined));
  if (names.length === 0) throw new RangeError('there are no bars to draw');
  const totals = bars.map(({ values }) => Object.values(values).reduce((sum, value) => sum + value, 0));
  const ticks = linearTicks(Math.max(...totals));
  const at = (value: number) => LEFT + (value / ticks.at(-1)!) * (WIDTH - LEFT - RIGHT);
  const bottom = TOP + bars.length * BAR.step;
  const table = bottom + 64;
  const height = table + (names.length + 2) * LINE;
  const color = (name: string) => COLORS[names.indexOf(name) % COLORS.length]!;
  const drawn = bars.flatMap(({ name, values }, index) => {
    const y = TOP + index * BAR.step + (BAR.step - BAR.height) / 2;
    const middle = y + BAR.height / 2 + 4;
    let sum = 0;
    const pieces = names.map((part) => {
      const from = at(sum);
      sum += values[part] ?? 0;
      return `<rect x="${fixed(from)}" y="${y}" width="${fixed(at(sum) - from)}" height="${BAR.height}" fill="${color(part)}"/>`;
    });
    return [
      text(LEFT - 8, middle, name, 'end'),
      ...pieces,
      text(at(sum) + 8, middle, shortened(Math.round(sum))),
    ];
  });
  const columns = bars.map((_, index) => WIDTH - 24 - (bars.length - 1 - index) * COLUMN);
  const row = (y: number, label: string, values: readonly string[]) => [
    text(48, y, label),
    ...values.map((value, index) => text(columns[index]!, y, value, 'end')),
  ];
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="${WIDTH / 2}" y="28" text-anchor="middle" font-size="17" fill="#1a1a1a">${escaped(title)}</text>`,
    ...ticks.flatMap((tick) => [
      `<line x1="${fixed(at(tick))}" x2="${fixed(at(tick))}" y1="${TOP}" y2="${bottom}" stroke="#e2e2e2"/>`,
      text(at(tick), bottom + 18, shortened(tick), 'middle'),
    ]),
    ...drawn,
    ...row(
      table,
      unit,
      bars.map(({ name }) => name),
    ),
    ...names.flatMap((name, index) => {
      const y = table + (index + 1) * LINE;
      const cells = bars.map(({ values }) => values[name]?.toFixed(1) ?? '–');
      return [
        `<rect x="24" y="${y - 11}" width="14" height="14" fill="${color(name)}"/>`,
        ...row(y, name, cells),
      ];
    }),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

function text(x: number, y: number, content: string, anchor = 'start'): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" fill="#1a1a1a">${escaped(content)}</text>`;
}

function fixed(value: number): string {
  return value.toFixed(1);
}
