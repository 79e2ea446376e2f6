/** Starts the embedded Postgres on a directory, and only answers requests with 201. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import { createLog } from '../../src/platform/log.ts';

const [dataDir = ''] = process.argv.slice(2);
const postgres = await startEmbeddedPostgres({ dataDir, durable: true, log: createLog('warn') });
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(201, { 'Content-Length': 2 }).end('{}');
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`\ncurl -sS http://127.0.0.1:${(server.address() as AddressInfo).port}/ -d '{}'\n`);
});
process.once('SIGTERM', async () => {
  await postgres.stop();
  process.exit(0);
});
