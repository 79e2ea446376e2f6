/**
 * Holds the node lock until a test kills it: `node node-lock-child.ts <url> <mode>`. Prints
 * `{held}`.
 */

import { acquireNodeLock } from '../../src/platform/db/connection/node-lock.ts';
import { Primary } from '../../src/platform/db/connection/primary.ts';
import { createLog } from '../../src/platform/log.ts';

const [url = '', mode = ''] = process.argv.slice(2);
const log = createLog('silent');
const lock = await acquireNodeLock({
  primary: new Primary({ url, log }),
  mode: mode === 'shared' ? 'shared' : 'exclusive',
  log,
});
process.stdout.write(`${JSON.stringify({ held: lock.held })}\n`);
