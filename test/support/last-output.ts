import type { ChildProcess } from 'node:child_process';

/**
 * Resolves with the exit code of a process when its output has been read to the end; null if a
 * signal ended it. What it said last is read after its end (`exit`), on a busy machine long after:
 * a test that reads the output then lacks the last lines. Call it before the process can end.
 */
export function whenOutputEnded(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', resolve));
}
