/** A whole node whose clock of tries to send mail runs a thousand times faster. */

import { startApp } from '../../src/app/app.ts';
import { SendSchedule } from '../../src/features/mail/outgoing/send-schedule.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';

const SPEED = 1_000;

const config = loadConfig();
const sendSchedule = new SendSchedule({ speed: SPEED });
await startApp({ config, log: createLog(config.logLevel), sendSchedule });
