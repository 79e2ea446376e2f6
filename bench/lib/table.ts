import type { ProcessorTime } from './processor-time.ts';
import type { Row } from './row.ts';

const HEADINGS = [
  'work',
  'ours',
  'control',
  'ratio (spread)',
  'µs an operation, node/Postgres/generator (control)',
  'goal',
] as const;

/** Returns rows under headings, columns aligned, as plain text. */
export function renderTable(rows: readonly Row[]): string {
  const lines = [HEADINGS, ...rows.map(cells)];
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const rendered = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  const rule = '─'.repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  return [rendered[0], rule, ...rendered.slice(1)].join('\n');
}

function cells({ work, ours, control, ratio, processor, goal }: Row): string[] {
  return [
    work,
    ours,
    control,
    ratio === null ? '' : `${times(ratio.median)} (${times(ratio.least)}–${times(ratio.most)})`,
    [microseconds(processor.ours), parenthesized(microseconds(processor.control))].join(' ').trim(),
    goal === null ? '' : `${goal.text} ${goal.met ? '✓' : '✗'}`,
  ];
}

function times(ratio: number): string {
  return ratio.toFixed(2);
}

function microseconds(time: ProcessorTime): string {
  const parts = [time.node, time.postgres, time.generator];
  if (parts.every((us) => us === undefined)) return '';
  return parts.map((us) => (us === undefined ? '–' : us.toFixed(us < 10 ? 1 : 0))).join('/');
}

function parenthesized(text: string): string {
  return text === '' ? '' : `(${text})`;
}
