/**
 * Owns an embedded Postgres that a test kills:
 * `node embedded-postgres-child.ts <data dir> [<module>]`. Prints `{url, pid}` when it runs; stops
 * it when standard input ends.
 */

const [dataDir = '', module = '../../packages/embedded-postgres/embedded-postgres.ts'] =
  process.argv.slice(2);
const { startEmbeddedPostgres } = (await import(
  module
)) as typeof import('@parley/embedded-postgres/embedded-postgres.ts');
process.umask(0o077);
const silence = () => undefined;
// Not pino: a copy of packages/embedded-postgres without node_modules is run as well.
const log = { debug: silence, info: silence, warn: silence, error: silence };
try {
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false, log });
  process.stdout.write(`${JSON.stringify({ url: postgres.url, pid: postgres.pid })}\n`);
  process.stdin.resume().once('end', () => void postgres.stop());
} catch (error) {
  process.stderr.write((error as Error).message);
  process.exitCode = 1;
}
