import type { FileResult } from './results.ts';

export interface Part {
  readonly name: string;
  readonly wallMs: number;
  /** So far; null where nothing counts it. */
  readonly processorMs: () => number | null;
}

/** Returns the failures of files with their diagnostics; empty if there are none. */
export function describeFailures(results: readonly FileResult[]): string {
  return results
    .flatMap((result) => {
      const failures = failuresOf(result);
      if (failures.length === 0) return [];
      const { file, noise } = result;
      return [
        ...failures.map(({ line, diagnostics }) =>
          diagnostics === '' ? line : `${line}\n${indented(diagnostics)}`,
        ),
        ...(noise === '' ? [] : [`output of ${file}:\n${indented(noise)}`]),
      ];
    })
    .join('\n');
}

/** Of the lines at the end of a log. */
const MOST_LINES = 10;
/** Characters of one. */
const LINE_LENGTH = 160;

/** Returns the first failures in a short line each; empty if there are none. */
export function summarizeFailures(checks: readonly string[], results: readonly FileResult[]): string {
  const lines = [...checks, ...results.flatMap(failuresOf).map(({ line }) => line)];
  const shown = lines.slice(0, MOST_LINES).map((line) => line.slice(0, LINE_LENGTH));
  if (lines.length > MOST_LINES) shown.push(`and ${lines.length - MOST_LINES} more`);
  return shown.join('\n');
}

/** Returns the last lines of a standard error that name an error. */
export function errorLines(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => /\w*Error\b/.test(line))
    .slice(-3);
}

function failuresOf({ file, crash, failures }: FileResult): { line: string; diagnostics: string }[] {
  return [
    ...(crash === undefined ? [] : [{ line: `FAILED: ${file}: ${crash}`, diagnostics: '' }]),
    ...[...failures].flatMap(([path, list]) =>
      list.map(({ name, diagnostics }) => ({ line: `FAILED: ${path}: ${name}`, diagnostics })),
    ),
  ];
}

/** Returns one line: wall and processor seconds of each part, and the time of the fixed loop. */
export function describeTimes(parts: readonly Part[], loopBeforeMs: number, loopAfterMs: number): string {
  const texts = parts.map((part) => `${part.name} ${timesOf(part.wallMs, part.processorMs())}`);
  const wallMs = parts.reduce((sum, part) => sum + part.wallMs, 0);
  const all = parts.map((part) => part.processorMs());
  const processorMs = all.includes(null) ? null : all.reduce<number>((sum, ms) => sum + (ms ?? 0), 0);
  const loop = `${(loopBeforeMs / 1_000).toFixed(2)} s before and ${(loopAfterMs / 1_000).toFixed(2)} s after`;
  return `time: ${texts.join(', ')}; in all ${timesOf(wallMs, processorMs)}; a fixed loop took ${loop}`;
}

function timesOf(wallMs: number, processorMs: number | null): string {
  const wall = `${(wallMs / 1_000).toFixed(1)} s`;
  return processorMs === null ? wall : `${wall} (${(processorMs / 1_000).toFixed(1)} core-s)`;
}

/** Returns a text that stands below a line. */
export function indented(text: string): string {
  return text.trimEnd().replace(/^/gm, '    ');
}
