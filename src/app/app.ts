import { requireDataDirectory } from '@parley/embedded-postgres/embedded-postgres.ts';
import type { Route } from '../api/pipeline/route.ts';
import { type Feature, hooksOf } from '../core/features/feature.ts';
import { coreChecks } from '../core/installation/checks.ts';
import { Figures } from '../core/installation/figures.ts';
import { Nodes } from '../core/installation/nodes.ts';
import { Tickets } from '../edge/gateway/socket/tickets.ts';
import { JobWorker } from '../platform/db/queue/job-worker.ts';
import { freeAdminPort, requireFreePort } from '../platform/http/free-port.ts';
import { readTlsFiles } from '../platform/http/tls-files.ts';
import { Disposer, Loop } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/log.ts';
import { AddressGuard } from '../platform/outbound/address-guard.ts';
import { openAccess } from './access.ts';
import type { Config } from './config.ts';
import { openData, type PartOptions } from './data.ts';
import { seedDay } from './demo/day.ts';
import { type DemoFile, demoFilePath, printWelcome, seedDemo, writeDemoFile } from './demo.ts';
import { FEATURES } from './features.ts';
import { noteFeatures, TASKS_OF_FEATURES, TOPICS_OF_FEATURES, withDropped } from './left-out.ts';
import { openMessaging } from './messaging.ts';
import { createNodeMetrics } from './metrics.ts';
import { OpenedFeatures } from './opened-features.ts';
import { rehearse } from './rehearsal.ts';
import { apiRoutes } from './routes.ts';
import { describeNode, type RunsOn } from './runs-on.ts';
import { openServing, openSockets, startAdminServer } from './serving.ts';
import type { Supervision } from './supervisor/supervision.ts';
import { Urls } from './urls.ts';
import { warmUp } from './warm-up.ts';

export interface AppOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Most messages in a flush of the write path; the bench turns batching off with 1. */
  readonly maxBatch?: number;
  /** Default: all of this build. */
  readonly features?: readonly Feature[];
  /**
   * Whether it rehearses requests before it listens, so that the first requests are as fast as
   * others. Default: true. Off, it answers the same.
   */
  readonly rehearses?: boolean;
  /** The supervisor of this node, if it is one of several on the same ports. */
  readonly supervision?: Supervision;
}

export interface App {
  readonly port: number;
  readonly baseUrl: string;
  /** Where the metrics are; undefined if no port has them. */
  readonly adminUrl: string | undefined;
  readonly runsOn: RunsOn;
  /** Every endpoint of the API. Documents and tests are derived from it. */
  readonly routes: readonly Route[];
  /** Makes only `/readyz` fail, so that balancers send no more connections here. */
  leave(): void;
  /** Serves new connections with the present TLS files; bad ones change nothing and are logged. */
  renewCertificate(): void;
  /** Stops accepting requests, completes those in flight, and stops all parts in reverse order. */
  close(): Promise<void>;
}

/**
 * Assembles a node: the files beside this one make every part once, with its dependencies. Parts
 * start in the order of the code and stop in reverse. Rejects with one clear line if a part cannot
 * start; the started parts are then stopped.
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
  { config, log, maxBatch, features: list = FEATURES, rehearses = true, supervision }: AppOptions,
  disposer: Disposer,
): Promise<App> {
  const part: PartOptions = { config, log, metrics: createNodeMetrics(), disposer };
  const urls = new Urls(config);
  const hasDemoPage = config.demo && urls.isLocal;
  const guard = new AddressGuard({ allow: config.fetchAllow, namesVariable: config.demo });
  let demo: DemoFile | undefined;

  await requireResources(config, supervision !== undefined);
  const data = await openData(part, urls, hooksOf(list));
  const access = await openAccess(part, data);
  const { database, engine } = data;
  if (rehearses) await rehearse(part, { ...data, urls, guard });
  const features = await OpenedFeatures.open(list, { ...part, ...data, ...access, urls, guard });
  const noting = new Loop({
    intervalMs: NOTE_EVERY_MS,
    run: () => noteFeatures(database),
    onError: (error) => log.warn({ err: error }, 'writing which features are there failed'),
  });
  // A loop begins with a pause, in which notes of a feature that is back would still be dropped.
  noting.wake();
  disposer.add('features that are there', noting, (it) => it.close());
  const messaging = await openMessaging(part, { maxBatch, features, guard }, data, access);
  // Set below: the tools of agents are derived from this table, which contains their own routes.
  let routes: readonly Route[] = [];
  await features.join({ ...messaging, routes: () => routes, happened: features.effects.happened });
  const jobs = new JobWorker({
    database,
    watch: data.watch,
    log,
    handlers: withDropped([...messaging.jobs, ...features.jobs], TASKS_OF_FEATURES, log),
  });
  disposer.add('jobs', jobs, (it) => it.close());
  const tickets = new Tickets(database);
  const realtime = { tickets, answers: () => gateway.answers };
  const installation = {
    nodes: () => nodes,
    checks: () => [
      ...coreChecks({ database, metrics: part.metrics, acceptsUnsafePostgres: config.acceptsUnsafePostgres }),
      ...features.checks,
    ],
    docsUrl: () => urls.docs,
  };
  routes = apiRoutes(data, access, messaging, features, realtime, config.registration, installation);
  const runsOn = describeNode(config, data);
  const serving = await openServing(
    { ...part, urls, runsOn, features, supervision, demo: hasDemoPage ? () => demo : undefined },
    data,
    access,
    routes,
  );
  features.serve(serving);
  const gateway = openSockets({ ...part, supervision }, tickets, data, access, messaging, serving);
  const ownNodes = new Nodes({
    engine,
    hasRedis: config.redisUrl !== null,
    figures: new Figures(part.metrics),
    health: serving.healthOf,
  });
  const nodes = disposer.add('figures of nodes', ownNodes, (it) => it.close());
  messaging.outbox.start(withDropped([...messaging.handlers, ...features.handlers], TOPICS_OF_FEATURES, log));
  data.watch.start();

  const demoPath = demoFilePath(config.dataDir);
  const [seeded] = await Promise.all([
    config.demo ? seedDemo({ database, tokens: access.tokens, path: demoPath }) : undefined,
    rehearses ? warmUp(database, access, serving.http) : undefined,
  ]);
  const isShared = supervision !== undefined;
  const adminPort = await adminPortOf(config);
  urls.port = await serving.server.listen({ host: config.host, port: config.port, isShared });
  // Opened only now, because its `/readyz` speaks for the port above.
  const adminUrl = await startAdminServer({ ...part, supervision }, { ...serving, urls }, adminPort);
  await data.avatars.readdress();
  if (seeded !== undefined) {
    demo = writeDemoFile(demoPath, seeded, { baseUrl: urls.base, adminUrl });
    if (supervision?.assignment.isFirst !== false) printWelcome(demo, config.dataDir, hasDemoPage);
    // Started after the welcome, which does not wait for it.
    const day = config.demoDay ? seedDay(data) : Promise.resolve();
    const written = day.catch((err) => log.warn({ err }, 'the day of the demo account was not written'));
    disposer.add('day of the demo account', written, (it) => it);
  }
  await features.listen();
  supervision?.listens(serving.answers);
  return {
    port: urls.port,
    baseUrl: urls.base,
    adminUrl,
    runsOn,
    routes,
    leave: serving.leave,
    renewCertificate() {
      if (config.tls === null) return;
      try {
        const files = readTlsFiles(config.tls);
        serving.server.renewCertificate();
        features.renewCertificate(files);
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
        // A node whose stop is announced usually has a balancer in front, which keeps connections
        // open. A replaced node has accepted connections whose first request is on its way.
        serving.server.drain(config.drainMs, config.drainDelayMs > 0 || isShared ? KEPT_CONNECTIONS_MS : 0),
        features.drain(config.drainMs),
      ]);
      await disposer.close();
    },
  };
}

/** The time at a stop for a last request on a connection that a balancer keeps open. */
const KEPT_CONNECTIONS_MS = 1_000;

const NOTE_EVERY_MS = 60_000;

/** Returns the port of the admin server; null if there is none, or none is free. */
async function adminPortOf({ adminHost, adminPort }: Config): Promise<number | null> {
  return adminPort === 'default' ? ((await freeAdminPort(adminHost)) ?? null) : adminPort;
}

/** Checks requirements that would otherwise fail late, after a database was started or migrated. */
async function requireResources(config: Config, isSupervised: boolean): Promise<void> {
  const { tls, demo, databaseUrl, dataDir, host, port, adminHost, adminPort } = config;
  if (tls !== null) readTlsFiles(tls);
  if (demo) await requireDataDirectory(dataDir);
  // Other nodes of the supervisor listen on the same ports.
  if (isSupervised) return;
  // Skipped behind a balancer, which may connect during the check and lose its request.
  if (port !== 0 && databaseUrl === null) await requireFreePort(host, port);
  if (typeof adminPort === 'number' && adminPort > 0) await requireFreePort(adminHost, adminPort);
}
