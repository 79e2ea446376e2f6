/** A whole node whose clock of retries to webhooks runs a thousand times faster. */

import { startApp } from '../../src/app/app.ts';
import { RetrySchedule } from '../../src/features/webhooks/retry-schedule.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';

const SPEED = 1_000;

const config = loadConfig();
const retrySchedule = new RetrySchedule({ speed: SPEED });
await startApp({ config, log: createLog(config.logLevel), retrySchedule });
