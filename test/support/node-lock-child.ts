/**
 * Holds the node lock until a test kills it: `node node-lock-child.ts <url> <mode>`. Prints
 * `{held}`.
 */

import { acquireNodeLock } from '../../src/platform/db/connection/node-lock.ts';
import { createLog } from '../../src/platform/log.ts';

const [url = '', mode = ''] = process.argv.slice(2);
const lock = await acquireNodeLock({
  url,
  mode: mode === 'shared' ? 'shared' : 'exclusive',
  log: createLog('silent'),
});
process.stdout.write(`${JSON.stringify({ held: lock.held })}\n`);
