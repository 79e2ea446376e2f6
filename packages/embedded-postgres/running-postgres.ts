import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Address, urlOf } from './cluster.ts';
import { isOwned } from './owner-file.ts';

/**
 * Returns the URL of the embedded Postgres that a running Parley started on `dataDir`, also while
 * it is starting; undefined if none runs. Rejects with one line if it may not be used.
 */
export async function findRunningPostgres(dataDir: string): Promise<string | undefined> {
  const directory = await realpath(join(dataDir, 'postgres')).catch(() => undefined);
  if (directory === undefined) return undefined;
  const deadline = Date.now() + STARTING_MS;
  while (await isOwned(`${directory}.owner`)) {
    const { address, ready } = await stateOf(directory);
    if (ready) return urlOf(address, await passwordOf(directory));
    if (Date.now() > deadline) throw new Error(`the Postgres of the Parley on ${dataDir} is not ready`);
    await delay(50);
  }
  return undefined;
}

const STARTING_MS = 10_000;

/**
 * Reads lines 4, 5 and 8 of Postgres's own postmaster.pid: its port, the directory of its socket
 * (empty on loopback), and `ready`, padded with blanks, when it is.
 */
async function stateOf(directory: string): Promise<{ address: Address; ready: boolean }> {
  const lines = (await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  return {
    address: { port: Number(lines[3]), socketDirectory: lines[4] || undefined },
    ready: lines[7]?.trim() === 'ready',
  };
}

/** Reads the file of cluster.ts, which Parley's account and root may read. */
async function passwordOf(directory: string): Promise<string> {
  try {
    return await readFile(join(directory, 'parley.password'), 'utf8');
  } catch (cause) {
    throw new Error(`the running Parley's Postgres in ${directory} belongs to another user: be that user`, {
      cause,
    });
  }
}
