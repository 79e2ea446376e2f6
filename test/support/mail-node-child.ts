/** A whole node whose clock of tries to send mail runs a thousand times faster. */

import { startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { SendSchedule } from '../../src/mail/outgoing/send-schedule.ts';

const SPEED = 1_000;

const config = loadConfig();
const sendSchedule = new SendSchedule({ speed: SPEED });
await startApp({ config, log: createLog(config.logLevel), sendSchedule });
