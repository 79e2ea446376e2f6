/**
 * `start` (default), `admin`, `tail`. Failures before the gateway is up take one line each: of the
 * log where a program reads it, of text for people.
 */

import { createLog } from '../platform/log.ts';
import { ConfigError } from '../platform/settings/reader.ts';
import { loadConfig, readWarnings } from './config.ts';
import { runNode, runSupervisedNode } from './run-node.ts';
import { STOPPING_MS, StopRequest } from './stop-request.ts';

const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  start,
  admin,
  tail: follow,
  // For the processes of a supervisor alone.
  node: runSupervisedNode,
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
    complain(new Error(`no command "${name}"; there are start, admin, tail`));
    process.exit(2);
  }
  try {
    process.exit(await command(args));
  } catch (error) {
    if (isNode(name) && !process.stderr.isTTY) logRefusal(error);
    else complain(error);
    process.exit(1);
  }
}

/** Whether a command logs as it runs. */
function isNode(name: string): boolean {
  return name === 'start' || name === 'node';
}

/** Runs the gateway until it is asked to stop. Resolves with the exit code. */
async function start(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new Error('start takes no arguments: it is configured by the environment');
  const config = loadConfig();
  const log = createLog(config.logLevel);
  const { unbuiltWarning } = await import('../api/documents/client-package.ts');
  for (const warning of [...readWarnings(config), await unbuiltWarning()]) {
    if (warning !== undefined) log.warn(warning);
  }
  if (config.processes > 1) {
    const { supervise } = await import('./supervise.ts');
    return supervise(config, log);
  }
  const { drainDelayMs, drainMs, startedByNpm, tls } = config;
  const stop = new StopRequest(log, drainDelayMs + drainMs + STOPPING_MS);
  // Without a certificate to read again, it also stops when the terminal closes.
  stop.followSignals(['SIGINT', 'SIGTERM', ...(tls === null ? (['SIGHUP'] as const) : [])], startedByNpm);
  if (startedByNpm) stop.followParent();
  return runNode({ config, log, stop });
}

/** Runs one administrative command; its result is JSON on standard output. */
async function admin(args: readonly string[]): Promise<number> {
  const { parseCommand, usageOf, wantsHelp } = await import('./admin/command-line.ts');
  const { UsageError } = await import('../core/features/command.ts');
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

/** Logs why it did not start, as programs that collect the log expect. */
function logRefusal(error: unknown): void {
  const log = createLog('fatal');
  const details = debugging() ? { err: error } : {};
  for (const line of linesOf(error)) log.fatal(details, line);
}

/** Prints why a command failed; the stack only at level debug. */
function complain(error: unknown): void {
  process.stderr.write(
    linesOf(error)
      .map((line) => `parley: ${line}\n`)
      .join(''),
  );
  if (debugging() && error instanceof Error) process.stderr.write(`${error.stack}\n`);
}

/** Returns one line, or for a bad environment one for each problem. */
function linesOf(error: unknown): readonly string[] {
  return error instanceof ConfigError ? error.problems : [messageOf(error).replace(/\s*\n\s*/g, ' ')];
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
