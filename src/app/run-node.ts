import { setTimeout as delay } from 'node:timers/promises';
import { createLog, type Logger } from '../platform/log.ts';
import { type Config, loadConfig } from './config.ts';
import { STOPPING_MS, StopRequest } from './stop-request.ts';
import { Supervision } from './supervisor/supervision.ts';

export interface RunNodeOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly stop: StopRequest;
  readonly supervision?: Supervision;
}

/** Runs a node until `stop` asks it to end. Resolves with the exit code. */
export async function runNode({ config, log, stop, supervision }: RunNodeOptions): Promise<number> {
  const { drainDelayMs, tls } = config;
  // Loaded here, so that a bad environment is reported at once; `admin` does without the module.
  const starting = import('./app.ts').then(({ startApp }) =>
    startApp({ config, log, ...(supervision && { supervision }) }),
  );
  supervision?.follow({
    leave: () => void starting.then((app) => app.leave(), ignore),
    stop: (reason) => stop.ask(reason),
    orphaned: () => stop.ask('the supervisor is gone', { isUrgent: true, patienceMs: ORPHAN_MS }),
  });
  if (supervision === undefined && tls !== null) {
    process.on('SIGHUP', () => void starting.then((app) => app.renewCertificate(), ignore));
  }
  const app = await starting;
  const { baseUrl: base_url, adminUrl: admin_url } = app;
  log.info({ base_url, admin_url, pid: process.pid, ...app.runsOn }, 'started');
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

/** Runs one of the nodes of a supervisor until it is asked to stop. Resolves with the exit code. */
export async function runSupervisedNode(): Promise<number> {
  // Signals of the terminal or of a service manager reach every process; the supervisor decides.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const supervision = await Supervision.begin();
  const { slot, isFirst, ports, databaseUrl } = supervision.assignment;
  const loaded = loadConfig();
  const config = { ...loaded, ...ports, databaseUrl, demoDay: loaded.demoDay && isFirst, drainDelayMs: 0 };
  const log = createLog(config.logLevel).child({ process: slot });
  const stop = new StopRequest(log, config.drainMs + STOPPING_MS);
  const exitCode = await runNode({ config, log, stop, supervision });
  await supervision.end();
  return exitCode;
}

/** Milliseconds for a node to end after its supervisor was killed: another may want its port. */
const ORPHAN_MS = 700;

function ignore(): void {}
