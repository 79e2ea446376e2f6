import type { Container } from '../container/container.ts';
import { linesOf, parse } from '../content/documents.ts';
import type { Walk } from '../content/walk.ts';
import { type ArchiveLimits, UnreadableArchive } from '../reader.ts';

interface Reading<Value> {
  readonly container: Container;
  readonly limits: ArchiveLimits;
  readonly walk: Walk;
  /** Returns undefined for what is none of the values that the file has. */
  readonly read: (value: unknown) => Value | undefined;
}

/**
 * Returns the values of a file of JSON Lines, many at a time, and counts each line as a document.
 */
export async function* jsonLines<Value>(path: string, { container, limits, walk, read }: Reading<Value>) {
  const content = await container.open(path);
  if (content === undefined) return;
  try {
    for await (const lines of linesOf(content, limits.documentBytes)) {
      const values: { value: Value; where: string }[] = [];
      for (const { number, bytes } of lines) {
        const where = `${path}:${number}`;
        walk.meet('documents');
        walk.progress.done += (bytes?.length ?? 0) + 1;
        const parsed = bytes === undefined ? { problem: 'The line is too long.' } : parse(bytes, limits);
        const value = 'value' in parsed ? read(parsed.value) : undefined;
        if (value !== undefined) {
          walk.readDocument();
          values.push({ value, where });
        } else {
          const problem = 'problem' in parsed ? parsed.problem : 'The line has another form.';
          walk.skip('documents', 'unreadable', problem, where);
        }
      }
      yield values;
    }
  } catch (error) {
    if (!(error instanceof UnreadableArchive)) throw error;
    walk.meet('documents');
    walk.skip('documents', 'unreadable', error.message, path);
  }
}
