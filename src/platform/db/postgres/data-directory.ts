import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { makePassableDirectory } from './cluster.ts';

/**
 * Makes the data directory if it does not exist. Rejects with an Error of one line that says what
 * to do if it cannot be written.
 */
export async function requireDataDirectory(directory: string): Promise<void> {
  try {
    await makePassableDirectory(directory);
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new Error(
      `the data directory ${directory} cannot be used (${code ?? message}): ${remedyFor(code)}set PARLEY_DATA_DIR to another directory`,
      { cause },
    );
  }
}

/** Returns what else helps, as the beginning of a sentence. */
function remedyFor(code: string | undefined): string {
  switch (code) {
    case 'ENOENT':
      return 'no directory can be created there, ';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a part of that path is a file: move it away, or ';
    case 'EROFS':
      return 'its file system is mounted read-only: mount it writable, or ';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'there is no room left: free some, or ';
    default:
      return `let the user that Parley runs as (uid ${process.geteuid?.()}) write there, or `;
  }
}
