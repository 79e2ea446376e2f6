import { join } from 'node:path';
import { Authenticator } from './access/authenticate.ts';
import { Idempotency } from './access/idempotency.ts';
import { createRateLimits } from './access/rate-limit.ts';
import { RateSharing } from './access/rate-sharing.ts';
import { Rights } from './access/rights.ts';
import { Tokens } from './access/tokens.ts';
import { RIGHTS_CHANGED } from './accounts/rights-changed.ts';
import { accountRoutes } from './accounts/routes.ts';
import { purgeRefreshTokens } from './accounts/token-pairs.ts';
import { artifactRoutes } from './agents/artifact-routes.ts';
import { providersOf } from './agents/models/tiers.ts';
import { agentRoutes } from './agents/routes.ts';
import { onRunEnded } from './agents/runs/on-run-ended.ts';
import { openRunner } from './agents/runs/open-runner.ts';
import { RUN_DUE, RUN_ENDED } from './agents/runs/outbox-topics.ts';
import { runRoutes } from './agents/runs/routes.ts';
import { ToolCatalogue } from './agents/tools/catalogue.ts';
import { toolRoutes } from './agents/tools/routes.ts';
import { occurrenceRoutes } from './agents/triggers/routes.ts';
import { openSchedules } from './agents/triggers/schedule.ts';
import { Triggers } from './agents/triggers/triggers.ts';
import { fileRoutes } from './attachments/file-routes.ts';
import { openObjectStore } from './attachments/open-store.ts';
import { attachmentRoutes } from './attachments/routes.ts';
import { isDeleted, purgeUploads, REMOVE_WITHDRAWN, removeUnattached } from './attachments/uploads.ts';
import { BUILD } from './build.ts';
import type { Config } from './config.ts';
import { consoleRoutes } from './console/routes.ts';
import { ConversationDirectory } from './conversations/directory.ts';
import {
  CONVERSATION_CREATED,
  PARTICIPANT_ADDED,
  RESOURCES_CHANGED,
  SYSTEM_EVENT,
} from './conversations/outbox-topics.ts';
import { participantRoutes } from './conversations/participant-routes.ts';
import { conversationRoutes } from './conversations/routes.ts';
import { placeOf } from './db/connection-options.ts';
import { openDatabase } from './db/database.ts';
import { migrate } from './db/migrate.ts';
import { acquireNodeLock } from './db/node-lock.ts';
import { requireDataDirectory } from './db/postgres/data-directory.ts';
import { startEmbeddedPostgres } from './db/postgres/embedded-postgres.ts';
import { sharedSecret } from './db/shared-secret.ts';
import { handle } from './db/topic.ts';
import {
  type DemoFile,
  demoCommands,
  demoFilePath,
  demoSession,
  printWelcome,
  seedDemo,
  writeDemoFile,
} from './demo.ts';
import type { Engine } from './engine/engine.ts';
import { MemoryEngine } from './engine/memory-engine.ts';
import { RedisEngine } from './engine/redis-engine.ts';
import { Cursors } from './gateway/catch-up/cursors.ts';
import { Repair } from './gateway/catch-up/repair.ts';
import { Gateway } from './gateway/gateway.ts';
import { realtimeRoutes, upgradeRoutes } from './gateway/routes.ts';
import { Tickets } from './gateway/socket/tickets.ts';
import { healthRoutes, metricsRoutes } from './health.ts';
import { clientRoutes } from './http/client-modules.ts';
import { docsRoutes } from './http/docs/routes.ts';
import { requireFreePort } from './http/free-port.ts';
import { InProcess } from './http/in-process.ts';
import { isLoopbackAddress, isLoopbackOrigin } from './http/loopback.ts';
import { AllowedOrigins } from './http/origins.ts';
import { createHttp } from './http/pipeline.ts';
import type { Route } from './http/route.ts';
import { HttpServer } from './http/server.ts';
import { checkTlsFiles } from './http/tls-files.ts';
import { ChangedEffects } from './jobs/changed-effects.ts';
import { JobWorker } from './jobs/job-worker.ts';
import { OutboxWorker } from './jobs/outbox-worker.ts';
import { SentEffects } from './jobs/sent-effects.ts';
import { Disposer, Loop } from './lifecycle.ts';
import type { Logger } from './log.ts';
import { LockedWrites } from './messages/locked-write.ts';
import {
  MESSAGE_DELETED,
  MESSAGE_EDITED,
  MESSAGES_SENT,
  SCHEDULE_NOT_SENT,
} from './messages/outbox-topics.ts';
import type { Committed } from './messages/outgoing.ts';
import { messageRoutes } from './messages/routes.ts';
import { SEND_SCHEDULED } from './messages/scheduled.ts';
import { ScheduledDelivery } from './messages/scheduled-delivery.ts';
import { Sender } from './messages/send.ts';
import { appendSystemEvent } from './messages/system-messages.ts';
import { Timeline } from './messages/timeline.ts';
import { WritePath } from './messages/write-path.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { notifyAdded } from './notifications/added.ts';
import { notifyNotSent } from './notifications/not-sent.ts';
import { refreshNotifications } from './notifications/refresh.ts';
import { notificationRoutes } from './notifications/routes.ts';

export interface AppOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Most messages a flush of the write path; the bench turns batching off with 1. */
  readonly maxBatch?: number;
}

export interface App {
  readonly port: number;
  readonly baseUrl: string;
  readonly runsOn: RunsOn;
  /** Every endpoint of the API: what documents and tests are derived from. */
  readonly routes: readonly Route[];
  /** Stops taking requests, lets what is in flight finish, and stops everything in reverse. */
  close(): Promise<void>;
}

/** What this node runs on, for the line of its start: hosts, versions and paths, never a secret. */
export interface RunsOn {
  readonly database: string;
  readonly engine: string;
  readonly files: string;
  /** The providers of models, in the order in which they first occur. */
  readonly models: string;
  readonly version: string;
  readonly node: string;
}

/**
 * The composition root: every part is made here, once, and handed what it needs. Parts start in the
 * order of the code and stop in reverse. Rejects with one clear line when a part cannot start; what was
 * started by then is stopped.
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

async function start({ config, log, maxBatch }: AppOptions, disposer: Disposer): Promise<App> {
  const metrics = createMetrics();
  if (config.tls !== null) checkTlsFiles(config.tls);
  if (config.demo) await requireDataDirectory(config.dataDir);
  if (config.port !== 0) await requireFreePort(config.host, config.port);
  if (config.adminPort) await requireFreePort(config.adminHost, config.adminPort);
  const url = config.databaseUrl ?? (await startPostgres(config, log, disposer));
  const database = disposer.add('database', await openDatabase({ url, log, metrics }), (it) => it.close());
  await migrate(database, log);
  const mode = config.redisUrl === null ? 'exclusive' : 'shared';
  const lock = disposer.add('lock', await acquireNodeLock({ url, mode, log }), (it) => it.close());
  const { engine, description: engineDescription } = await openEngine(config, log, metrics);
  disposer.add('engine', engine, (it) => it.close());

  const rights = disposer.add('rights', await Rights.open(engine), (it) => it.close());
  const tokens = await Tokens.open({ database, secret: config.tokenSecret });
  const authenticator = new Authenticator({ database, tokens, rights });
  const rateLimits = createRateLimits(config.rateLimit);
  if (config.redisUrl !== null) {
    disposer.add('rate sharing', new RateSharing(engine, { ...rateLimits }), (it) => it.close());
  }
  const directory = new ConversationDirectory(database, rights);
  const cursors = disposer.add('cursors', await Cursors.start(database, engine, log), (it) => it.close());

  let publicUrl = publicUrlOf(config, config.port);
  const { store, files } = await openObjectStore({
    database,
    s3: config.s3,
    dataDir: config.dataDir,
    baseUrl: () => publicUrl,
  });
  disposer.add('object store', store, (it) => it.close());
  if (files !== undefined && config.redisUrl !== null) {
    log.info('uploads are stored in PARLEY_DATA_DIR: share it between all nodes, or set PARLEY_S3_BUCKET');
  }

  const triggers = new Triggers({ database, directory, rights });
  const effects = new SentEffects({
    ...{ database, files: store, engine, directory, metrics, log },
    onSaid: (messages) => triggers.onMessages(messages),
  });
  const changed = new ChangedEffects({
    ...{ database, files: store, engine },
    onFinished: (messageIds) => effects.finished(messageIds),
  });
  const outbox = new OutboxWorker({
    database,
    metrics,
    log,
    handlers: [
      handle(MESSAGES_SENT, (sent) => effects.takeOver(sent)),
      handle(RESOURCES_CHANGED, async (changes) => {
        await changed.publish(changes);
        await triggers.changed(changes.changes);
      }),
      handle(CONVERSATION_CREATED, (created) => triggers.onConversationCreated(created)),
      handle(PARTICIPANT_ADDED, (added) => notifyAdded(database, engine, added)),
      handle(SCHEDULE_NOT_SENT, (ended) => notifyNotSent(database, engine, ended)),
      handle(MESSAGE_EDITED, (edited) => refreshNotifications(database, edited)),
      handle(MESSAGE_DELETED, (deleted) => refreshNotifications(database, deleted)),
      handle(RUN_DUE, (due) => runner.due(due)),
      handle(RUN_ENDED, async (ended) => {
        await onRunEnded({ database, engine, writePath }, ended);
        await triggers.runEnded(ended);
      }),
      handle(SYSTEM_EVENT, (event) => appendSystemEvent(writePath, event)),
      handle(RIGHTS_CHANGED, async ({ subjects }) => {
        await Promise.all(subjects.map((subject) => rights.announce(subject)));
      }),
    ],
  });
  disposer.add('outbox', outbox, (it) => it.close());
  disposer.add('effects of sent messages', effects, (it) => it.idle());
  const timeline = new Timeline(database, engine, metrics);
  const writes = {
    database,
    files: store,
    engine,
    timeline,
    metrics,
    maySend: () => lock.held,
    onCommitted: (committed: Committed) => effects.committed(committed),
  };
  const lockedWrites = new LockedWrites(writes);
  const writePath = new WritePath({
    ...writes,
    log,
    ...(maxBatch === undefined ? {} : { maxBatch }),
  });
  disposer.add('write path', writePath, (it) => it.idle());
  const sender = new Sender({ database, store, directory, writePath, lockedWrites });

  const scheduled = new ScheduledDelivery({ database, lockedWrites, metrics, log });
  const recovery = new Loop({
    intervalMs: RECOVER_EVERY_MS,
    run: async () => void (await scheduled.recoverLost()),
    onError: (error) => log.warn({ err: error }, 'recovering lost jobs of scheduled messages failed'),
  });
  disposer.add('recovery of scheduled messages', recovery, (it) => it.close());
  const jobs = new JobWorker({
    database,
    handlers: [
      handle(SEND_SCHEDULED, (job) => scheduled.deliver(job)),
      handle(REMOVE_WITHDRAWN, () => removeUnattached(database, store)),
    ],
    log,
  });
  disposer.add('jobs', jobs, (it) => it.close());

  const idempotency = new Idempotency({ database });
  const purge = new Loop({
    intervalMs: PURGE_EVERY_MS,
    run: async () => {
      await idempotency.purge();
      await purgeRefreshTokens(database);
      await purgeUploads(database, store);
    },
    onError: (error) => log.warn({ err: error }, 'purging expired data failed'),
  });
  disposer.add('purge', purge, (it) => it.close());

  let draining = false;
  const tickets = new Tickets(database);
  const catalogue = new ToolCatalogue(() => routes);
  const routes: Route[] = [
    ...accountRoutes(database, tokens),
    ...conversationRoutes({ database, directory }),
    ...participantRoutes({ database, directory, engine, rights, tokens }),
    ...messageRoutes({ sender, lockedWrites, database, files: store, directory, timeline }),
    ...attachmentRoutes(database, store),
    ...notificationRoutes(database),
    ...agentRoutes({ database, catalogue }),
    ...runRoutes({ database, directory, catalogue }),
    ...occurrenceRoutes({ database }),
    ...artifactRoutes({ database, directory, files: store }),
    ...toolRoutes(catalogue),
    ...realtimeRoutes(tickets),
  ];
  const docsUrl = docsUrlOf(config);
  const hasDemoPage = config.demo && isLocal(config);
  const origins = new AllowedOrigins(config.allowedOrigins, { loopback: hasDemoPage });
  let demo: DemoFile | undefined;
  const runsOn: RunsOn = {
    database: `${config.databaseUrl === null ? 'embedded' : placeOf(url)}, PostgreSQL ${database.serverVersion}`,
    engine: engineDescription,
    files: config.s3 === null ? join(config.dataDir, 'uploads') : `s3://${config.s3.bucket}`,
    models: providersOf(config.models).join(', '),
    ...BUILD,
  };
  const http = createHttp({
    routes,
    publicRoutes: {
      ...docsRoutes({ routes, docsUrl }),
      ...clientRoutes(),
      ...consoleRoutes({
        version: runsOn.version,
        runsOn: () => ({ ...runsOn }),
        metricsPath: config.adminPort === null ? '/metrics' : undefined,
        demo: hasDemoPage
          ? {
              commands: () => demo && demoCommands(demo, config.dataDir),
              // Nothing is served before the demo account is there.
              session: () => demoSession(demo!, tokens),
            }
          : undefined,
      }),
      ...upgradeRoutes(),
      ...(files === undefined ? {} : fileRoutes(files, metrics, (key) => isDeleted(database, key))),
      ...healthRoutes({ database, engine, files, draining: () => draining }),
      ...(config.adminPort === null ? metricsRoutes(metrics, engine) : {}),
    },
    authenticator,
    // Where nothing is limited not even the caller's address is read.
    ...(config.rateLimit !== null && {
      limiter: rateLimits.credentials,
      addressLimiter: rateLimits.addresses,
    }),
    idempotency,
    cursorSecret: await sharedSecret(database, 'cursor_secret'),
    metrics,
    log,
    docsUrl,
    requestLogUrl: config.requestLogUrl,
    origins,
  });
  const server = disposer.add('server', new HttpServer({ handler: http, metrics, tls: config.tls }), (it) =>
    it.close(),
  );
  const runner = openRunner({
    ...{ database, engine, rights, authenticator, directory, store, writePath, lockedWrites, metrics, log },
    ...{ models: config.models, fetchAllow: config.fetchAllow, catalogue },
    caller: new InProcess(http, server.limits),
  });
  disposer.add('runs of agents', runner, (it) => it.close());
  disposer.add('schedules of agents', openSchedules(database, log), (it) => it.close());
  const gateway = new Gateway({
    database,
    files: store,
    engine,
    rights,
    authenticator,
    rateLimits,
    directory,
    timeline,
    tickets,
    cursors,
    http: server,
    refuse: (exchange, thrown) => http.refuse(exchange, thrown),
    failures: http.failures,
    origins,
    limits: config.socket,
    metrics,
    log,
  });
  disposer.add('gateway', gateway, (it) => it.close());
  const { streams, broadcast } = gateway;
  const repair = new Repair({ database, files: store, engine, streams, cursors, broadcast, metrics, log });
  disposer.add('repair', repair, (it) => it.close());
  await startAdminServer(config, log, metrics, engine, disposer);

  const seeded = config.demo
    ? await seedDemo({ database, tokens, path: demoFilePath(config.dataDir) })
    : undefined;
  const port = await server.listen({ host: config.host, port: config.port });
  const baseUrl = urlOf(config, port);
  publicUrl = publicUrlOf(config, port);
  if (seeded !== undefined) {
    demo = writeDemoFile(demoFilePath(config.dataDir), seeded, baseUrl);
    printWelcome(demo, config.dataDir, hasDemoPage);
  }
  return {
    port,
    baseUrl,
    runsOn,
    routes,
    async close() {
      draining = true;
      await Promise.all([
        gateway.drain('shutdown', config.drainMs),
        server.drain(config.drainMs),
        runner.drain(config.drainMs),
      ]);
      await disposer.close();
    },
  };
}

const RECOVER_EVERY_MS = 1_000;

/** Keys live for a day: an hour more is no matter. */
const PURGE_EVERY_MS = 60 * 60 * 1_000;

async function startPostgres(config: Config, log: Logger, disposer: Disposer): Promise<string> {
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, durable: true, log });
  return disposer.add('postgres', postgres, (it) => it.stop()).url;
}

/** With what the line of a start says about it. */
async function openEngine(
  { redisUrl }: Config,
  log: Logger,
  metrics: Metrics,
): Promise<{ engine: Engine; description: string }> {
  if (redisUrl === null) return { engine: new MemoryEngine(), description: 'memory' };
  const engine = await RedisEngine.connect({ url: redisUrl, log, metrics });
  const version = engine.serverVersion === null ? '' : `, Redis ${engine.serverVersion}`;
  return { engine, description: `${new URL(redisUrl).host}${version}` };
}

/** `/metrics` on a port of its own, where operators want it out of reach of callers. */
async function startAdminServer(
  config: Config,
  log: Logger,
  metrics: Metrics,
  engine: Engine,
  disposer: Disposer,
): Promise<void> {
  const { adminPort, adminHost } = config;
  if (adminPort === null) return;
  const handler = createHttp({
    routes: [],
    publicRoutes: metricsRoutes(metrics, engine),
    authenticator: { authenticate: () => Promise.reject(new Error('no route here asks for a caller')) },
    metrics,
    log,
    docsUrl: docsUrlOf(config),
    requestLogUrl: null,
  });
  const server = disposer.add('admin server', new HttpServer({ handler }), (it) => it.close());
  await server.listen({ host: adminHost, port: adminPort });
}

/** Where errors point for more: this server's own pages unless an operator has better ones. */
function docsUrlOf(config: Config): string {
  // A port that the system chooses is not known when the first error may be made.
  if (config.docsUrl !== null) return config.docsUrl;
  return config.port === 0 && config.publicUrl === null
    ? '/docs'
    : `${publicUrlOf(config, config.port)}/docs`;
}

/** Whether this node is reached from its own machine alone: a public URL means that a proxy brings others. */
function isLocal({ host, publicUrl }: Config): boolean {
  return isLoopbackAddress(host) && (publicUrl === null || isLoopbackOrigin(new URL(publicUrl).origin));
}

/** Where callers reach this server: behind a balancer only the operator knows. */
function publicUrlOf(config: Config, port: number): string {
  return config.publicUrl ?? urlOf(config, port);
}

function urlOf({ tls, host }: Config, port: number): string {
  return `${tls === null ? 'http' : 'https'}://${hostInUrl(host)}:${port}`;
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
