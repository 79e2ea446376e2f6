import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/**
 * Logs JSON lines, by default to standard error; standard output is kept for text that people
 * paste.
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  standardError ??= new GatheredLines(pino.destination({ dest: 2, sync: true }));
  return pino({ level, base: null, timestamp: timeField }, destination ?? standardError);
}

interface LineDestination {
  write(text: string): unknown;
  flushSync(): void;
}

/** Milliseconds during which lines after another one are gathered. */
const GATHER_MS = 10;
/** Characters of gathered lines from which they are written earlier. */
const MAX_GATHERED = 64 * 1024;

/**
 * Writes a line at once, and the lines of the next 10 ms together: on a busy node a system call for
 * each request would cost more than its line. A warning or worse is written immediately, with the
 * lines before it. The rest is written when the process ends; only a kill -9 loses the last 10 ms.
 */
export class GatheredLines {
  readonly #destination: LineDestination;
  #held = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(destination: LineDestination) {
    this.#destination = destination;
    process.once('exit', () => this.flushSync());
  }

  write(line: string): void {
    this.#held += line;
    if (this.#timer === undefined || isWarning(line) || this.#held.length > MAX_GATHERED) this.#writeHeld();
  }

  flushSync(): void {
    if (this.#held !== '') this.#writeHeld();
    this.#destination.flushSync();
  }

  #writeHeld(): void {
    const text = this.#held;
    this.#held = '';
    this.#timer ??= setTimeout(this.#onTimer, GATHER_MS).unref();
    this.#destination.write(text);
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    if (this.#held !== '') this.#writeHeld();
  };
}

/** Shared by all loggers of the process. */
let standardError: GatheredLines | undefined;

/** Returns whether a line of pino's, `{"level":40`, is a warning (40) or worse (higher). */
function isWarning(line: string): boolean {
  return line.charAt(LEVEL_AT) >= '4';
}

const LEVEL_AT = '{"level":'.length;

let lastMs = 0;
let lastField = '';

/** Equals pino.stdTimeFunctions.isoTime, but is computed once per millisecond. */
function timeField(): string {
  const nowMs = Date.now();
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    lastField = `,"time":"${new Date(nowMs).toISOString()}"`;
  }
  return lastField;
}
