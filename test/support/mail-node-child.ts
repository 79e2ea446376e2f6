/** A whole node whose clock of tries to send mail runs a thousand times faster. */

import { startApp } from '../../src/app/app.ts';
import { mail, mailBy } from '../../src/features/mail/feature.ts';
import { SendSchedule } from '../../src/features/mail/outgoing/send-schedule.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { featuresWith } from './features-with.ts';

const SPEED = 1_000;

const config = loadConfig();
const features = featuresWith(mail, mailBy(new SendSchedule({ speed: SPEED })));
await startApp({ config, log: createLog(config.logLevel), features });
