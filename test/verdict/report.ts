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
    .flatMap(({ file, crash, failures, noise }) => {
      if (crash === undefined && failures.size === 0) return [];
      return [
        ...(crash === undefined ? [] : [`FAILED: ${file}: ${crash}`]),
        ...[...failures].flatMap(([path, list]) =>
          list.map(({ name, diagnostics }) => `FAILED: ${path}: ${name}\n${indented(diagnostics)}`),
        ),
        ...(noise === '' ? [] : [`output of ${file}:\n${indented(noise)}`]),
      ];
    })
    .join('\n');
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
