import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ApiError } from '@parley/protocol/errors/errors.ts';

/**
 * Reads a file that `npm run build` makes in a folder. Rejects with ApiError `resource_not_found`,
 * whose message says why the server lacks what the file is part of.
 */
export async function readBuiltFile(folder: URL, path: string, what: string): Promise<Buffer> {
  return readFile(new URL(path, folder)).catch(async (cause) => {
    const why = (await whyUnbuilt(folder)) ?? 'there was no build';
    const message = `This server has no ${what}, because ${why}. Run "npm run build" where it is installed.`;
    throw new ApiError('resource_not_found', message, { cause });
  });
}

/** Returns why a folder of `npm run build` has no files, in the words for "because …". */
export async function whyUnbuilt(folder: URL): Promise<string | undefined> {
  const failure = await readFile(new URL('failure.txt', folder), 'utf8').catch(() => undefined);
  if (failure !== undefined) return `the build failed: ${failure}`;
  return existsSync(folder) ? undefined : 'there was no build';
}
