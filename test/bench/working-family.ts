/**
 * Starts a child that works for half a second of processor time; ends it on request. For the test
 * of the meter.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

const WORK = 'while (process.cpuUsage().user < 5.2e5); process.stdout.write("done"); process.stdin.resume()';
const child = spawn(process.execPath, ['-e', WORK], { stdio: ['pipe', 'pipe', 'inherit'] });
await once(child.stdout!, 'data');
process.send?.('worked');
await once(process, 'message');
child.stdin?.end();
await once(child, 'close');
process.send?.('ended');
process.once('disconnect', () => process.exit(0));
