import { readFileSync } from 'node:fs';
import { freeAdminPort, requireFreePort } from '../platform/http/free-port.ts';
import { Disposer } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/log.ts';
import type { Config } from './config.ts';
import { databaseUrlOf } from './database-url.ts';
import { STOPPING_MS, StopRequest } from './stop-request.ts';
import { Supervisor } from './supervisor/supervisor.ts';

/**
 * Runs `config.processes` nodes until it is asked to stop. Resolves with the exit code. Rejects
 * with one line if they cannot start.
 */
export async function supervise(config: Config, log: Logger): Promise<number> {
  const { processes, host, adminHost, drainMs, drainDelayMs, startedByNpm } = config;
  const stop = new StopRequest(log, drainDelayMs + processes * (drainMs + STOPPING_MS) + STOPPING_MS);
  stop.followSignals(['SIGINT', 'SIGTERM'], startedByNpm);
  if (startedByNpm) stop.followParent();
  // The nodes share their ports with each other, and would share them with other programs too.
  const port = await requireFreePort(host, config.port, ORPHANS_MS);
  const adminPort =
    typeof config.adminPort === 'number'
      ? await requireFreePort(adminHost, config.adminPort, ORPHANS_MS)
      : config.adminPort && ((await freeAdminPort(adminHost)) ?? null);
  warnOfResets(log);

  const disposer = new Disposer();
  try {
    const databaseUrl = await databaseUrlOf(config, log, disposer);
    const supervisor = new Supervisor({
      config,
      ports: { port, adminPort },
      databaseUrl,
      log,
      stopMs: drainMs + STOPPING_MS,
    });
    process.on('SIGHUP', () => void supervisor.roll());
    const started = supervisor.start().catch(() => {
      // The node has printed why.
      stop.exitCode = 1;
      stop.ask('a node did not start', { isUrgent: true });
    });
    const reason = await stop.requested;
    log.info({ reason }, 'stopping one node after another');
    const exitCode = await supervisor.stop(reason, stop.urgent);
    await started;
    return Math.max(exitCode, stop.exitCode);
  } finally {
    await disposer.close();
  }
}

/** Milliseconds for which the nodes of a killed supervisor may still listen. */
const ORPHANS_MS = 3_000;

/**
 * Warns of a setting by which connections are reset. The kernel assigns a new connection to a node
 * before that node accepts it, and resets it if the node stops listening in between, unless this
 * setting has it assigned to another node.
 */
function warnOfResets(log: Logger): void {
  const setting = 'net.ipv4.tcp_migrate_req';
  let value = '1';
  try {
    value = readFileSync(`/proc/sys/${setting.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    // Another system, or a kernel before 5.14: docs/operations.md says what these do.
  }
  if (value !== '1') {
    log.warn(`a node that stops may reset connections that it has not accepted yet: set ${setting} to 1`);
  }
}
