/** One file, since the file store and the signing key make files durable. */

import { open } from 'node:fs/promises';

/** Flushes a directory, because a new name is durable only once its directory is. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
