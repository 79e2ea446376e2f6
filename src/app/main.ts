/** `start` (default), `admin`, `tail`. Failures before the gateway is up take one line. */

import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/reader.ts';
import { createLog, type Logger } from '../platform/log.ts';

const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  start,
  admin,
  tail: follow,
};

const USAGE = `usage: node src/app/main.ts <command>

  start   Run the gateway (the default); it is configured by the environment, see docs/configuration.md
  admin   Create, list and end accounts, keys, users and tokens: admin --help
  tail    Show a conversation of the demo account as it goes on: tail cnv_…
`;

async function main(): Promise<never> {
  // The reader of our output may close (`npm start | head`); that is no reason to stop serving.
  process.stdout.on('error', () => undefined);
  const [name = 'start', ...args] = process.argv.slice(2);
  if (name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  const command = COMMANDS[name];
  if (command === undefined) {
    complain(new Error(`no command "${name}"; there are ${Object.keys(COMMANDS).join(', ')}`));
    process.exit(2);
  }
  try {
    process.exit(await command(args));
  } catch (error) {
    complain(error);
    process.exit(1);
  }
}

/** Runs the gateway until it is asked to stop. Resolves with the exit code. */
async function start(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new Error('start takes no arguments: it is configured by the environment');
  const config = loadConfig();
  const { drainDelayMs, drainMs, startedByNpm, tls } = config;
  const log = createLog(config.logLevel);
  const stop = new StopRequest(log, { patienceMs: drainDelayMs + drainMs + STOPPING_MS, startedByNpm });
  // Loaded here, so that a bad environment is reported at once; `admin` needs none of it.
  const starting = import('./app.ts').then(({ startApp }) => startApp({ config, log }));
  if (tls === null) stop.onHangUp();
  else process.on('SIGHUP', () => void starting.then((app) => app.renewCertificate(), ignore));
  const app = await starting;
  log.info({ base_url: app.baseUrl, pid: process.pid, ...app.runsOn }, 'started');
  const reason = await stop.requested;
  app.leave();
  if (drainDelayMs > 0 && !stop.urgent.aborted) {
    log.info({ reason, drain_delay_ms: drainDelayMs }, 'not ready any more: stopping after the delay');
    await delay(drainDelayMs, undefined, { signal: stop.urgent }).catch(ignore);
  }
  log.info({ reason }, 'stopping');
  try {
    await app.close();
  } catch (err) {
    log.error({ err }, 'did not stop cleanly');
    return 1;
  }
  log.info('stopped');
  return stop.exitCode;
}

/** Runs one administrative command; its result is JSON on standard output. */
async function admin(args: readonly string[]): Promise<number> {
  const { parseCommand, usageOf, UsageError, wantsHelp } = await import('./admin/command-line.ts');
  const { COMMANDS } = await import('./admin/commands.ts');
  try {
    if (wantsHelp(args)) {
      process.stdout.write(usageOf(COMMANDS, 'npm run -s admin --', args));
      return 0;
    }
    // A wrong command line needs neither configuration and database nor their modules.
    parseCommand(COMMANDS, args);
    const config = loadConfig();
    // A command reports its result on standard output, so only failures are logged.
    const log = createLog(config.logLevel === 'info' ? 'warn' : config.logLevel);
    const { runAdmin } = await import('./admin/run.ts');
    const result = await runAdmin(args, config, log);
    if (result !== undefined) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    complain(error);
    return 2;
  }
}

/** Shows a conversation of the demo account until it is interrupted. */
async function follow(args: readonly string[]): Promise<number> {
  const [conversationId] = args;
  if (conversationId === undefined || args.length > 1) {
    complain(new Error('tail takes one conversation id: npm run -s tail -- cnv_…'));
    return 2;
  }
  const { tail } = await import('./tail.ts');
  const { dataDir } = loadConfig();
  return tail(conversationId, dataDir, (line) => process.stdout.write(`${line}\n`));
}

/** Time that sockets, jobs, database and embedded Postgres may take to end after the drain. */
const STOPPING_MS = 20_000;
const PARENT_CHECK_MS = 500;
/** npm repeats a signal that the process group got (Ctrl-C): within this time it is the same. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Active from its construction: the first signal or fatal error asks for an orderly stop, a second
 * for an urgent one. After `patienceMs` the process ends, whatever still runs.
 */
class StopRequest {
  /** Resolves with the reason. */
  readonly requested: Promise<string>;
  /** Aborted when the stop should not wait for balancers. */
  readonly urgent: AbortSignal;
  /** 1 after anything fatal, even while stopping. */
  exitCode = 0;
  readonly #log: Logger;
  readonly #options: { readonly patienceMs: number; readonly startedByNpm: boolean };
  readonly #request: (reason: string) => void;
  readonly #urge = new AbortController();
  #signalledMs: number | undefined;

  constructor(log: Logger, options: { readonly patienceMs: number; readonly startedByNpm: boolean }) {
    this.#log = log;
    this.#options = options;
    this.urgent = this.#urge.signal;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.requested = promise;
    this.#request = resolve;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, this.#signalled);
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (error: unknown) => {
        this.exitCode = 1;
        this.#log.fatal({ err: error }, event);
        this.#ask(event);
        this.#urge.abort();
      });
    }
    if (options.startedByNpm) this.#watchParent();
  }

  /** Also stops when the terminal closes. */
  onHangUp(): void {
    process.on('SIGHUP', this.#signalled);
  }

  readonly #signalled = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now();
    const isFirst = this.#signalledMs === undefined;
    this.#signalledMs ??= nowMs;
    const isSame = this.#options.startedByNpm && nowMs - this.#signalledMs < SAME_SIGNAL_MS;
    if (isFirst) this.#ask(signal);
    else if (!isSame) this.#urge.abort();
  };

  /** A killed npm sends no signal; without this, port and data directory would stay taken. */
  #watchParent(): void {
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      this.#ask('the parent process is gone');
      this.#urge.abort();
    }, PARENT_CHECK_MS).unref();
  }

  #ask(reason: string): void {
    this.#request(reason);
    setTimeout(() => {
      this.#log.fatal({ reason }, 'did not stop in time');
      process.exit(1);
    }, this.#options.patienceMs).unref();
  }
}

function ignore(): void {}

/** Prints one line (for a bad environment one for each problem); the stack only at level debug. */
function complain(error: unknown): void {
  const lines = error instanceof ConfigError ? error.problems : [messageOf(error).replace(/\s*\n\s*/g, ' ')];
  process.stderr.write(lines.map((line) => `parley: ${line}\n`).join(''));
  if (debugging() && error instanceof Error) process.stderr.write(`${error.stack}\n`);
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node's own error for several refused addresses has no message.
  if (error.message === '' && error instanceof AggregateError) return messageOf(error.errors[0]);
  return error.message || error.name;
}

function debugging(): boolean {
  try {
    return ['trace', 'debug'].includes(loadConfig().logLevel);
  } catch {
    return false;
  }
}

// Last, because the declarations above are initialised before this line is reached.
await main();
