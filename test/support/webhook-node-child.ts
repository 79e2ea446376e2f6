/** A whole node whose clock of retries to webhooks runs a thousand times faster. */

import { startApp } from '../../src/app/app.ts';
import { webhooks, webhooksBy } from '../../src/features/webhooks/feature.ts';
import { RetrySchedule } from '../../src/features/webhooks/retry-schedule.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { featuresWith } from './features-with.ts';

const SPEED = 1_000;

const config = loadConfig();
const features = featuresWith(webhooks, webhooksBy(new RetrySchedule({ speed: SPEED })));
await startApp({ config, log: createLog(config.logLevel), features });
