import type { ChildProcess } from 'node:child_process';

/**
 * Resolves with the exit code of a process when its output has been read to the end; null if a
 * signal ended it. Its last output is read after its end (`exit`), on a busy machine long after, so
 * a test that reads it then lacks the last lines. Call this before the process can end.
 */
export function whenOutputEnded(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', resolve));
}
