import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import { createLog } from '../../src/platform/log.ts';

/**
 * Puts a new cluster into a data directory by copying a cluster that is made once per checkout: 60
 * ms, while initdb takes most of a second. startEmbeddedPostgres then uses it.
 */
export async function seedCluster(dataDir: string): Promise<void> {
  const seed = join(await seedDirectory(), 'postgres');
  // A symbolic link: Postgres cannot reach the temporary directory, and one cluster must not serve
  // two tests.
  if (!(await lstat(seed)).isDirectory()) return;
  await promisify(execFile)('cp', ['-a', seed, dataDir]);
}

async function seedDirectory(): Promise<string> {
  const root = resolve(import.meta.dirname, '../..');
  const user = process.getuid?.() ?? 0;
  const family = `parley-seed-${user}-${digest(root)}-`;
  const makers = ['packages/embedded-postgres/cluster.ts', 'package.json'].map((path) =>
    readFile(join(root, path)),
  );
  const directory = join(tmpdir(), family + digest(Buffer.concat(await Promise.all(makers))));
  const found = await lstat(directory).catch(() => undefined);
  if (found !== undefined) {
    if (found.uid !== user) throw new Error(`${directory} belongs to somebody else`);
    return directory;
  }
  const draft = await mkdtemp(join(tmpdir(), 'parley-seed-draft-'));
  try {
    // Under root, Postgres runs as another user, which has to pass through this directory.
    await chmod(draft, 0o711);
    const log = createLog('silent');
    await (await startEmbeddedPostgres({ dataDir: draft, durable: false, log })).stop();
    await rename(draft, directory);
    for (const name of await readdir(tmpdir())) {
      if (!name.startsWith(family) || name === basename(directory)) continue;
      await rm(join(tmpdir(), name), { recursive: true, force: true });
    }
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process was faster.
    if ((await lstat(directory).catch(() => undefined)) === undefined) throw error;
  }
  return directory;
}

function digest(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex').slice(0, 8);
}
