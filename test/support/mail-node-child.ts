/** A whole node that tries to send mail a thousand times as soon. */

import { startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/app/config.ts';
import { mail, mailBy } from '../../src/features/mail/feature.ts';
import { SEND_TIMES } from '../../src/features/mail/outgoing/send-times.ts';
import { createLog } from '../../src/platform/log.ts';
import { featuresWith } from './features-with.ts';
import { sooner } from './sooner.ts';

const config = loadConfig();
const retries = sooner(SEND_TIMES.retries, 1_000);
const features = featuresWith(mail, mailBy({ retries, lookEveryMs: 100, leaseMs: 2_000 }));
await startApp({ config, log: createLog(config.logLevel), features });
