/**
 * Runs jobs of the topic `note`, none of which ends, until a test kills it. Prints the payload of
 * the first job. `node job-worker-child.ts <url> <lease in ms>`
 */

import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { JobWorker } from '../../src/platform/db/queue/job-worker.ts';
import { defineTopic, handle } from '../../src/platform/db/queue/topic.ts';
import { createLog } from '../../src/platform/log.ts';

const [url = '', leaseMs = ''] = process.argv.slice(2);
const log = createLog('silent');
const database = await openDatabase({ url, log });
const watch = new DueWatch({ database, log });
const handler = handle(defineTopic<object>('note'), async (payload) => {
  process.stdout.write(`${JSON.stringify(payload)}\n`);
  await new Promise(() => undefined);
});
new JobWorker({ database, watch, handlers: [handler], log, leaseMs: Number(leaseMs) });
watch.start();
