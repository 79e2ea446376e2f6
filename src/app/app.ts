import { Tickets } from '../edge/gateway/socket/tickets.ts';
import { ToolCatalogue } from '../features/agents/tools/catalogue.ts';
import { Triggers } from '../features/agents/triggers/triggers.ts';
import type { SendSchedule } from '../features/mail/outgoing/send-schedule.ts';
import { Completeness } from '../features/webhooks/completeness.ts';
import type { RetrySchedule } from '../features/webhooks/retry-schedule.ts';
import type { Config } from '../platform/config.ts';
import { requireDataDirectory } from '../platform/db/postgres/data-directory.ts';
import { requireFreePort } from '../platform/http/free-port.ts';
import type { Route } from '../platform/http/route.ts';
import { readTlsFiles } from '../platform/http/tls-files.ts';
import { Disposer } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/log.ts';
import { createMetrics } from '../platform/metrics.ts';
import { AddressGuard } from '../platform/outbound/address-guard.ts';
import { openAccess } from './access.ts';
import { openAgents } from './agents.ts';
import { openData } from './data.ts';
import { seedDay } from './demo/day.ts';
import { type DemoFile, demoFilePath, printWelcome, seedDemo, writeDemoFile } from './demo.ts';
import { openMail } from './mail.ts';
import { openIntake } from './mail-intake.ts';
import { openMessaging } from './messaging.ts';
import type { PartOptions } from './part.ts';
import { openPush } from './push.ts';
import { apiRoutes } from './routes.ts';
import { describeNode, type RunsOn } from './runs-on.ts';
import { openServing, startAdminServer } from './serving.ts';
import { openSockets } from './sockets.ts';
import { Urls } from './urls.ts';
import { warmUp } from './warm-up.ts';
import { openWebhooks } from './webhooks.ts';

export interface AppOptions {
  readonly config: Config;
  readonly log: Logger;
  /**
   * Maximum number of messages in a flush of the write path; the bench turns batching off with 1.
   */
  readonly maxBatch?: number;
  /** The clock of retries to webhooks; campaigns have it run faster. */
  readonly retrySchedule?: RetrySchedule;
  /** The clock of tries to send mail. */
  readonly sendSchedule?: SendSchedule;
}

export interface App {
  readonly port: number;
  readonly baseUrl: string;
  readonly runsOn: RunsOn;
  /** Every endpoint of the API. Documents and tests are derived from it. */
  readonly routes: readonly Route[];
  /**
   * From now on `/readyz` fails, so that balancers send no more connections here. Nothing else
   * changes.
   */
  leave(): void;
  /**
   * Serves new connections with the TLS files as they are now; logs an error, and changes nothing,
   * if they are bad.
   */
  renewCertificate(): void;
  /** Stops accepting requests, completes those in flight, and stops all parts in reverse order. */
  close(): Promise<void>;
}

/**
 * Assembles a node: the files beside this one make every part once, with its dependencies. Parts
 * start in the order of the code and stop in reverse. Rejects with one clear line if a part cannot
 * start; the parts that had started by then are stopped.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const disposer = new Disposer();
  try {
    return await start(options, disposer);
  } catch (error) {
    await disposer.close();
    throw error;
  }
}

async function start(
  { config, log, maxBatch, retrySchedule, sendSchedule }: AppOptions,
  disposer: Disposer,
): Promise<App> {
  const part: PartOptions = { config, log, metrics: createMetrics(), disposer };
  const urls = new Urls(config);
  const hasDemoPage = config.demo && urls.isLocal;
  const guard = new AddressGuard({ allow: config.fetchAllow });
  let demo: DemoFile | undefined;

  await requireResources(config);
  const data = await openData(part, urls);
  const access = await openAccess(part, data);
  const { database, engine } = data;

  const triggers = new Triggers({ database, directory: access.directory, rights: access.rights });
  const { recorder, ...webhooks } = openWebhooks({ ...part, guard, retrySchedule }, data, access);
  const push = await openPush({ ...part, guard }, data, access);
  const messaging = openMessaging({ ...part, maxBatch, triggers, recorder }, data, access, push);
  const mail = await openMail({ ...part, urls, sendSchedule }, data);
  const intake = openIntake({ ...part, key: mail.key }, data, access, messaging);
  const mailRoutes = { ...mail.publicRoutes, ...intake.publicRoutes };
  // The tools of agents are derived from the table of routes, which also contains the routes of the
  // tools.
  const catalogue = new ToolCatalogue(() => routes);
  const tickets = new Tickets(database);
  const completeness = new Completeness({ database, timeline: messaging.timeline, log });
  const parts = { catalogue, tickets, config, completeness, ...webhooks };
  const routes = apiRoutes(data, access, push, messaging, mail, parts);
  const runsOn = describeNode(config, data);
  const serving = await openServing(
    { ...part, urls, runsOn, mailRoutes, demo: hasDemoPage ? () => demo : undefined },
    data,
    access,
    routes,
  );
  const agents = openAgents(
    { ...part, triggers, recorder, catalogue, guard },
    data,
    access,
    messaging,
    serving,
  );
  const gateway = openSockets({ ...part, tickets }, data, access, messaging, serving);
  messaging.outbox.start([...access.handlers, ...messaging.handlers, ...mail.handlers, ...agents.handlers]);
  data.watch.start();

  const demoPath = demoFilePath(config.dataDir);
  const [seeded] = await Promise.all([
    config.demo ? seedDemo({ database, tokens: access.tokens, path: demoPath }) : undefined,
    warmUp(database, access, serving.http),
  ]);
  urls.port = await serving.server.listen({ host: config.host, port: config.port });
  // Only now: its `/readyz` speaks for the port above.
  await startAdminServer(part, { engine, health: serving.health, urls });
  await data.avatars.readdress();
  if (seeded !== undefined) {
    demo = writeDemoFile(demoPath, seeded, urls.base);
    printWelcome(demo, config.dataDir, hasDemoPage);
    // Behind the welcome, which does not wait for it.
    const day = config.demoDay ? seedDay({ database, store: data.store }) : Promise.resolve();
    disposer.add(
      'day of the demo account',
      day.catch((error: unknown) => log.warn({ err: error }, 'the day of the demo account was not written')),
      (it) => it,
    );
  }
  await intake.start(urls);
  return {
    port: urls.port,
    baseUrl: urls.base,
    runsOn,
    routes,
    leave: serving.leave,
    renewCertificate() {
      if (config.tls === null) return;
      try {
        const files = readTlsFiles(config.tls);
        serving.server.renewCertificate();
        intake.renewCertificate(files);
        log.info(
          { subject: files.subject, valid_to: files.validTo },
          'serving a certificate that was read again',
        );
      } catch (err) {
        log.error({ err }, 'the certificate cannot be read again: the one from before stays in use');
      }
    },
    async close() {
      serving.leave();
      await Promise.all([
        gateway.drain('shutdown', config.drainMs),
        // A node whose stop is announced has a balancer in front, as a rule, and that keeps
        // connections open.
        serving.server.drain(config.drainMs, config.drainDelayMs > 0 ? KEPT_CONNECTIONS_MS : 0),
        agents.runner.drain(config.drainMs),
        webhooks.deliverer.drain(config.drainMs),
        mail.drain(config.drainMs),
        intake.drain(config.drainMs),
      ]);
      await disposer.close();
    },
  };
}

/** What a connection that a balancer keeps open has for a last request, at a stop. */
const KEPT_CONNECTIONS_MS = 1_000;

/** Checks requirements that would otherwise fail late, after a database was started or migrated. */
async function requireResources({
  tls,
  demo,
  databaseUrl,
  dataDir,
  host,
  port,
  adminHost,
  adminPort,
}: Config): Promise<void> {
  if (tls !== null) readTlsFiles(tls);
  if (demo) await requireDataDirectory(dataDir);
  // Not behind a balancer: it may connect to the port while it is tried, and its request would be
  // lost.
  if (port !== 0 && databaseUrl === null) await requireFreePort(host, port);
  if (adminPort) await requireFreePort(adminHost, adminPort);
}
