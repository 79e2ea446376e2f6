import type { Row } from './work.ts';

const HEADINGS = ['work', 'ours', 'control', 'ratio (spread)', 'goal'] as const;

/** Rows under headings, columns aligned, as plain text. */
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

function cells({ work, ours, control, ratio, goal }: Row): string[] {
  return [
    work,
    ours,
    control,
    ratio === null ? '' : `${times(ratio.median)} (${times(ratio.least)}–${times(ratio.most)})`,
    goal === null ? '' : `${goal.text} ${goal.met ? '✓' : '✗'}`,
  ];
}

function times(ratio: number): string {
  return ratio.toFixed(2);
}
