import { readFile } from 'node:fs/promises';
import { ApiError } from '@parley/protocol/errors/errors.ts';

/**
 * Reads a file that `npm run build` makes in a folder. Rejects with ApiError `resource_not_found`,
 * whose message says why the server lacks what the file is part of.
 */
export async function readBuiltFile(folder: URL, path: string, what: string): Promise<Buffer> {
  return readFile(new URL(path, folder)).catch(async (cause) => {
    const failure = await readFile(new URL('failure.txt', folder), 'utf8').catch(() => undefined);
    const why = failure === undefined ? 'it was not built' : `its build failed: ${failure}`;
    const message = `This server has no ${what}, because ${why}. Run "npm run build" where it is installed.`;
    throw new ApiError('resource_not_found', message, { cause });
  });
}
