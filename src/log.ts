import { type Logger, pino } from 'pino';

export type { Logger };

/** One JSON line an event on standard error, so that standard output stays for what people paste. */
export function createLog(level: string): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}
