/** A whole node that retries webhooks a thousand times as soon. */

import { startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/app/config.ts';
import { webhooks, webhooksBy } from '../../src/features/webhooks/feature.ts';
import { WEBHOOK_TIMES } from '../../src/features/webhooks/times.ts';
import { createLog } from '../../src/platform/log.ts';
import { featuresWith } from './features-with.ts';
import { sooner } from './sooner.ts';

const FACTOR = 1_000;

const config = loadConfig();
const times = {
  retries: sooner(WEBHOOK_TIMES.retries, FACTOR),
  lookEveryMs: 20,
  failingMs: WEBHOOK_TIMES.failingMs / FACTOR,
  disabledMs: WEBHOOK_TIMES.disabledMs / FACTOR,
};
const features = featuresWith(webhooks, webhooksBy(times));
await startApp({ config, log: createLog(config.logLevel), features });
