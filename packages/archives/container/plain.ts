import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Container } from './container.ts';

/** Returns a single file as if it were the only one of an archive, under `name`. */
export async function openPlain(path: string, name: string): Promise<Container> {
  const { size } = await stat(path);
  return {
    entries: new Map([[name, { size }]]),
    open: async (entry) =>
      entry === name ? { size, read: () => createReadStream(path) as AsyncIterable<Buffer> } : undefined,
    close: async () => undefined,
  };
}
