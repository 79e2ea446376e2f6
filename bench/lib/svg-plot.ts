import type { Axis, Curves, Point } from './curves.ts';

const WIDTH = 760;
const HEIGHT = 440;
const MARGIN = { left: 76, right: 24, top: 48, bottom: 104 };
const PLOT = {
  width: WIDTH - MARGIN.left - MARGIN.right,
  height: HEIGHT - MARGIN.top - MARGIN.bottom,
};
/** Pairs of one colour, the second one dashed. Up to three lines have a colour each. */
const STYLES = [
  { color: '#0b5fa5', dashes: '' },
  { color: '#0b5fa5', dashes: '7 4' },
  { color: '#b3541e', dashes: '' },
  { color: '#b3541e', dashes: '7 4' },
  { color: '#3d7a3d', dashes: '' },
  { color: '#3d7a3d', dashes: '7 4' },
];

/** Draws curves as an SVG of its own: white ground, so that it is legible on any page. */
export function plot({ title, x, y, lines }: Curves): string {
  const points = lines.flatMap((line) => line.points);
  if (points.length === 0) throw new RangeError('there are no points to draw');
  const across = scaleOf(
    x,
    points.map(([value]) => value),
    MARGIN.left,
    MARGIN.left + PLOT.width,
  );
  const up = scaleOf(
    y,
    points.map(([, value]) => value),
    MARGIN.top + PLOT.height,
    MARGIN.top,
  );
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${WIDTH / 2}" y="28" text-anchor="middle" font-size="17" fill="#1a1a1a">${escaped(title)}</text>`,
    ...xAxis(x, across),
    ...yAxis(y, up),
    ...lines.flatMap(({ name, points: own }, index) => {
      const style = STYLES[lines.length > STYLES.length / 2 ? index % STYLES.length : 2 * index]!;
      return curve(name, own, { index, ...style }, across, up);
    }),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

/** Maps the values to places between `from` and `to`, with round ticks that enclose the values. */
function scaleOf({ scale }: Axis, values: readonly number[], from: number, to: number): Scale {
  const ticks = scale === 'linear' ? linearTicks(Math.max(...values)) : decades(values);
  const place = scale === 'linear' ? (value: number) => value : Math.log10;
  const [first, last] = [place(ticks[0]!), place(ticks.at(-1)!)];
  return { at: (value) => from + ((place(value) - first) / (last - first)) * (to - from), ticks };
}

/** Returns ticks from zero to the first one that is not below `most`: four to nine of them. */
export function linearTicks(most: number): number[] {
  const magnitude = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * magnitude).find((one) => most / one <= 8) ?? magnitude;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/**
 * Returns 1, 2 and 5 of each power of ten from the last one below the values to the first one
 * above.
 */
export function decades(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++) {
    for (const factor of [1, 2, 5]) ticks.push(Number((factor * 10 ** power).toPrecision(12)));
  }
  const first = ticks.findLastIndex((tick) => tick <= least);
  const last = ticks.findIndex((tick) => tick >= most);
  // One value alone would leave nothing to draw between.
  return ticks.slice(first, Math.max(last, first + 1) + 1);
}

function xAxis({ label }: Axis, { at, ticks }: Scale): string[] {
  const bottom = MARGIN.top + PLOT.height;
  return [
    ...ticks.flatMap((tick) => [
      `<line x1="${fixed(at(tick))}" x2="${fixed(at(tick))}" y1="${MARGIN.top}" y2="${bottom}" stroke="#e2e2e2"/>`,
      `<text x="${fixed(at(tick))}" y="${bottom + 18}" text-anchor="middle" fill="#333333">${shortened(tick)}</text>`,
    ]),
    `<text x="${MARGIN.left + PLOT.width / 2}" y="${bottom + 40}" text-anchor="middle" fill="#1a1a1a">${escaped(label)}</text>`,
  ];
}

function yAxis({ label }: Axis, { at, ticks }: Scale): string[] {
  const middle = MARGIN.top + PLOT.height / 2;
  return [
    ...ticks.flatMap((tick) => [
      `<line x1="${MARGIN.left}" x2="${MARGIN.left + PLOT.width}" y1="${fixed(at(tick))}" y2="${fixed(at(tick))}" stroke="#e2e2e2"/>`,
      `<text x="${MARGIN.left - 8}" y="${fixed(at(tick) + 4)}" text-anchor="end" fill="#333333">${shortened(tick)}</text>`,
    ]),
    `<text x="18" y="${middle}" text-anchor="middle" fill="#1a1a1a" transform="rotate(-90 18 ${middle})">${escaped(label)}</text>`,
  ];
}

interface Style {
  readonly index: number;
  readonly color: string;
  readonly dashes: string;
}

/** Draws one line with its points, and its entry in the legend below the axes, two in a row. */
function curve(name: string, points: readonly Point[], style: Style, across: Scale, up: Scale): string[] {
  const { index, color, dashes } = style;
  const stroke = `stroke="${color}" stroke-width="2"${dashes === '' ? '' : ` stroke-dasharray="${dashes}"`}`;
  const places = points.map(([x, y]) => [fixed(across.at(x)), fixed(up.at(y))] as const);
  const left = MARGIN.left + (index % 2) * (PLOT.width / 2);
  const top = HEIGHT - 40 + Math.floor(index / 2) * 20;
  return [
    `<polyline fill="none" ${stroke} points="${places.map((place) => place.join(',')).join(' ')}"/>`,
    ...places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${color}"/>`),
    `<line x1="${left}" x2="${left + 34}" y1="${top}" y2="${top}" ${stroke}/>`,
    `<text x="${left + 42}" y="${top + 4}" fill="#1a1a1a">${escaped(name)}</text>`,
  ];
}

function fixed(value: number): string {
  return value.toFixed(1);
}

/** Returns 500, 20 k, 2 M. */
export function shortened(value: number): string {
  if (value >= 1e6) return `${value / 1e6} M`;
  if (value >= 1e4) return `${value / 1e3} k`;
  return String(value);
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
