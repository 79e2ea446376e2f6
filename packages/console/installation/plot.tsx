import {
  FIGURES_KEPT_S,
  type InstallationNode,
  type NodeFigures,
} from '@parley/protocol/resources/installation.ts';
import { inLanguage } from '@parley/ui/text/language.ts';
import { timeOf } from '@parley/ui/text/time.ts';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { secondsOf } from './history.ts';
import { shortId } from './nodes.tsx';
import { PLACES, Swatch } from './swatch.tsx';
import type { Unit } from './units.ts';

/** A line of a plot, for each node. */
export interface Line {
  readonly of: Exclude<keyof NodeFigures, 'at'>;
  /** Tells the lines of one node apart. */
  readonly name?: string;
  readonly isDashed?: boolean;
}

export interface PlotProps {
  readonly title: string;
  readonly unit: Unit;
  readonly lines: readonly Line[];
  readonly nodes: readonly InstallationNode[];
}

/** One figure of every node over time, with its value now, or under the pointer. */
export function Plot({ title, unit, lines, nodes }: PlotProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const data = useMemo(() => alignedData(nodes, lines), [nodes, lines]);
  const at = pointed === null ? undefined : data[0][pointed];
  return (
    <figure class="installation-plot" aria-label={title}>
      <figcaption>
        <h3>{title}</h3>
        {at !== undefined && <time>{clock(at)}</time>}
        <ul>
          {nodes.map((node, place) => (
            <li key={node.id}>
              <Swatch place={place} />
              <span class="hidden-visually">{shortId(node.id)}: </span>
              {lines.map((line, index) => (
                <Value
                  key={line.of}
                  name={line.name}
                  text={unit(valueAt(data[1 + place * lines.length + index], pointed))}
                />
              ))}
            </li>
          ))}
        </ul>
      </figcaption>
      <Canvas count={nodes.length} data={data} lines={lines} unit={unit} onPointed={setPointed} />
    </figure>
  );
}

interface CanvasProps extends Pick<PlotProps, 'lines' | 'unit'> {
  /** The number of nodes. */
  readonly count: number;
  readonly data: uPlot.AlignedData;
  /** Called with the place in the data under the pointer, of whichever plot. */
  readonly onPointed: (place: number | null) => void;
}

/** The drawing, hidden from screen readers: its figures stand beside it. */
function Canvas({ count, data, lines, unit, onPointed }: CanvasProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = host.current!;
    const made = new uPlot(optionsOf(element, { count, lines, unit, onPointed }), undefined, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [count, lines, unit, onPointed]);
  // This runs after the effect above, which makes another plot for another number of nodes.
  useEffect(() => plot.current?.setData(data), [data]);
  return <div ref={host} class="installation-canvas" aria-hidden="true" />;
}

function Value({ name, text }: { readonly name: string | undefined; readonly text: string }) {
  return (
    <span class="installation-value">
      {name !== undefined && <small>{name} </small>}
      {text}
    </span>
  );
}

const HEIGHT = 132;
const CURSOR = 'installation';

type Values = uPlot.AlignedData[number] | undefined;

/** Returns a line's value at a place (null: the end), else its last value before. */
function valueAt(values: Values, place: number | null): number | null | undefined {
  for (let at = place ?? (values?.length ?? 0) - 1; at >= 0; at--) {
    if (values?.[at] !== undefined) return values[at];
  }
  return undefined;
}

/** Aligns the data of nodes, which take figures at their own moments, by continuing each line. */
function alignedData(nodes: readonly InstallationNode[], lines: readonly Line[]): uPlot.AlignedData {
  const tables = nodes.map(
    ({ figures }): uPlot.AlignedData => [
      figures.map(({ at }) => secondsOf(at)),
      ...lines.map(({ of }) => figures.map((each) => each[of])),
    ],
  );
  return tables.length === 0 ? [[], ...lines.map(() => [])] : uPlot.join(tables);
}

function optionsOf(
  element: HTMLElement,
  { count, lines, unit, onPointed }: Omit<CanvasProps, 'data'>,
): uPlot.Options {
  const quiet = () => colourOf(element, '--quiet');
  const grid = { stroke: () => colourOf(element, '--line'), width: 1 };
  const font = `11px ${getComputedStyle(element).fontFamily}`;
  const axis = { stroke: quiet, font, grid, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: CURSOR }, drag: { x: false, y: false }, y: false },
    hooks: { setCursor: [({ cursor }) => onPointed(cursor.idx ?? null)] },
    scales: {
      x: { range: (_, __, last) => [(last ?? 0) - FIGURES_KEPT_S, last ?? 0] },
      y: { range: (_, __, most) => [0, Math.max(1, (most ?? 0) * 1.1)] },
    },
    axes: [
      { ...axis, size: 24, space: 70, values: (_, moments) => moments.map((at) => timeOf(iso(at))) },
      { ...axis, size: 56, space: 30, values: (_, values) => values.map((value) => unit(value)) },
    ],
    series: [
      {},
      ...Array.from({ length: count }, (_, place) =>
        lines.map(({ isDashed }) => ({
          stroke: () => colourOf(element, `--installation-${place % PLACES}`),
          width: 1.5,
          points: { show: false },
          ...(isDashed && { dash: [4, 3] }),
        })),
      ).flat(),
    ],
  };
}

/** Returns a variable's colour in a form that a canvas knows, in the present theme. */
function colourOf(element: HTMLElement, variable: string): string {
  element.style.setProperty('color', `var(${variable})`);
  return getComputedStyle(element).color;
}

function iso(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

const clocks = inLanguage((locale) => new Intl.DateTimeFormat(locale, { timeStyle: 'medium' }));

function clock(seconds: number): string {
  return clocks().format(new Date(seconds * 1_000));
}
