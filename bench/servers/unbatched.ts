/**
 * The product with batching off: every message is a flush, and so a statement and a commit, of its
 * own.
 */

import { startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/app/config.ts';
import { createLog } from '../../src/platform/log.ts';

const config = loadConfig();
const app = await startApp({ config, log: createLog(config.logLevel), maxBatch: 1 });
process.once('SIGTERM', async () => {
  await app.close();
  process.exit(0);
});
