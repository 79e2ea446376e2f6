import { Idempotency } from '../api/access/idempotency.ts';
import { OperatorKeys } from '../api/access/operator-keys.ts';
import { createPollLimits } from '../api/access/rate-limit.ts';
import { RateSharing } from '../api/access/rate-sharing.ts';
import { clientRoutes } from '../api/documents/client-package.ts';
import { docsRoutes } from '../api/documents/pages/routes.ts';
import { registryRoutes } from '../api/documents/registry/routes.ts';
import {
  adminRoutes,
  askedHealth,
  healthOf,
  healthRoutes,
  METRICS_ELSEWHERE,
  metricsRoutes,
  ofNode,
} from '../api/health.ts';
import { createHttp } from '../api/pipeline/pipeline.ts';
import type { Route } from '../api/pipeline/route.ts';
import { avatarRoutes } from '../core/accounts/avatars/avatar-routes.ts';
import { purgeRefreshTokens } from '../core/accounts/sessions/token-pairs.ts';
import { fileRoutes } from '../core/attachments/file-routes.ts';
import { filesOrigin } from '../core/attachments/files-origin.ts';
import { isDeleted, purgeUploads, requireUpload } from '../core/attachments/uploads.ts';
import { guidesOf } from '../core/documents/guides.ts';
import { operationTexts } from '../core/documents/operation-texts.ts';
import { externalIds } from '../core/resources/external-ids.ts';
import { consolePageRoutes } from '../edge/console/page-routes.ts';
import { consoleRoutes } from '../edge/console/routes.ts';
import { Repair } from '../edge/gateway/catch-up/repair.ts';
import { Gateway } from '../edge/gateway/gateway.ts';
import { REALTIME_OPERATIONS, upgradeRoutes } from '../edge/gateway/routes.ts';
import type { Tickets } from '../edge/gateway/socket/tickets.ts';
import { sharedSecret } from '../platform/db/shared-secret.ts';
import { AllowedOrigins } from '../platform/http/origins.ts';
import { HttpServer } from '../platform/http/server.ts';
import { Loop } from '../platform/lifecycle.ts';
import type { Access } from './access.ts';
import type { Data, PartOptions } from './data.ts';
import { openShop, shopToken } from './demo/shop.ts';
import { type DemoFile, demoCommands, demoSession } from './demo.ts';
import type { Messaging } from './messaging.ts';
import type { OpenedFeatures } from './opened-features.ts';
import type { RunsOn } from './runs-on.ts';
import type { Supervision } from './supervisor/supervision.ts';
import type { Urls } from './urls.ts';

export type Serving = Awaited<ReturnType<typeof openServing>>;

export interface ServingOptions extends PartOptions {
  readonly urls: Urls;
  readonly runsOn: RunsOn;
  readonly features: OpenedFeatures;
  /** The demo account, if the console has a page for it. Undefined until the server listens. */
  readonly demo: (() => DemoFile | undefined) | undefined;
  readonly supervision: Supervision | undefined;
}

/** Opens the HTTP API with its documents, console and files. It serves once the server listens. */
export async function openServing(
  { config, log, metrics, disposer, urls, runsOn, features, demo, supervision }: ServingOptions,
  { database, engine, store, files, avatars }: Data,
  { authenticator, whereabouts, rateLimits, tokens }: Access,
  routes: readonly Route[],
) {
  const idempotency = new Idempotency({ database });
  const purge = new Loop({
    intervalMs: PURGE_EVERY_MS,
    run: async () => {
      await idempotency.purge();
      await purgeRefreshTokens(database);
      await purgeUploads(database, store);
      await features.tidy();
    },
    onError: (error) => log.warn({ err: error }, 'purging expired data failed'),
  });
  disposer.add('purge', purge, (it) => it.close());

  let draining = false;
  const origins = new AllowedOrigins(config.allowedOrigins, { loopback: demo !== undefined, log });
  const parts = { database, engine, files, draining: () => draining };
  const probes = {
    health: healthRoutes(parts, supervision),
    metrics: metricsRoutes(metrics, engine, supervision),
  };
  const pollLimiters = createPollLimits(config.socket.pollsPerSecond);
  if (supervision !== undefined) {
    const { supervisorId } = supervision.assignment;
    const named = Object.entries(pollLimiters).map(([of, limiter]) => [
      `polls_${of}_${supervisorId}`,
      limiter,
    ]);
    const sharing = new RateSharing(engine, Object.fromEntries(named));
    disposer.add('sharing of polls', sharing, (it) => it.close());
  }
  const http = createHttp({
    routes,
    publicRoutes: {
      ...docsRoutes({
        routes,
        operations: [...operationTexts(database.hooks), REALTIME_OPERATIONS],
        docsUrl: urls.docs,
        guides: guidesOf(database.hooks),
      }),
      ...clientRoutes(),
      ...registryRoutes({ database, log, urlFor: (host) => urls.askedAt(host) }),
      ...consoleRoutes({
        version: runsOn.version,
        runsOn: () => ({ ...runsOn }),
        demo: demo && {
          commands: () => {
            const file = demo();
            return file && demoCommands(file, config.dataDir);
          },
          // Nothing is served before the demo account exists.
          session: () => demoSession(demo()!, tokens),
          shop: (host) => openShop(database, new URL(`//${host}`, urls.public).origin),
          shopToken: () => shopToken(database),
        },
      }),
      ...consolePageRoutes({ filesOrigin: filesOrigin(config.s3) }),
      ...upgradeRoutes(origins),
      ...(files === undefined
        ? {}
        : fileRoutes(files, metrics, {
            isDeleted: (key) => isDeleted(database, key),
            requireUpload: (key) => requireUpload(database, key),
          })),
      ...avatarRoutes(avatars),
      ...features.publicRoutes,
      ...probes.health,
      ...METRICS_ELSEWHERE,
    },
    authenticator,
    operatorKeys: new OperatorKeys(database),
    whereabouts,
    pollLimiters,
    // Without a rate limit the caller's address is not even read.
    ...(config.rateLimit !== null && {
      limiter: rateLimits.credentials,
      addressLimiter: rateLimits.addresses,
      scarceLimiters: { registrations: rateLimits.registrations, visitors: rateLimits.visitorsOfAddress },
    }),
    idempotency,
    externalIds: externalIds(database),
    database,
    cursorSecret: await sharedSecret(database, 'cursor_secret'),
    metrics,
    log,
    docsUrl: urls.docs,
    requestLogUrl: config.requestLogUrl,
    origins,
  });
  const server = new HttpServer({ handler: http, metrics, tls: config.tls });
  disposer.add('server', server, (it) => it.close());
  return {
    http,
    server,
    origins,
    probes,
    healthOf: () => healthOf(parts),
    /** For a supervisor, which answers for several nodes. */
    answers: {
      health: () => askedHealth(parts),
      metrics: () => ofNode(metrics, engine).getMetricsAsJSON(),
    },
    /** Makes the node unready; it goes on as before. */
    leave: () => {
      draining = true;
    },
  };
}

interface Supervised {
  readonly supervision: Supervision | undefined;
}

/** Keys live for a day, so one more hour does not matter. */
const PURGE_EVERY_MS = 60 * 60 * 1_000;

/**
 * Serves `/metrics` and the probes on a separate port that operators hide from callers. Returns its
 * URL, or undefined if there is none.
 */
export async function startAdminServer(
  { config, log, metrics, disposer, supervision }: PartOptions & Supervised,
  { probes, urls }: Pick<Serving, 'probes'> & { readonly urls: Urls },
  adminPort: number | null,
): Promise<string | undefined> {
  const { adminHost } = config;
  if (adminPort === null) {
    if (config.adminPort !== null) log.warn('no port for the metrics is free: set PARLEY_ADMIN_PORT');
    return undefined;
  }
  const handler = createHttp({
    routes: [],
    publicRoutes: adminRoutes({ ...probes.health, ...probes.metrics }),
    authenticator: { authenticate: () => Promise.reject(new Error('no route here asks for a caller')) },
    database: { transaction: () => Promise.reject(new Error('no route here changes anything')) },
    metrics,
    log,
    docsUrl: urls.docs,
    requestLogUrl: null,
  });
  const server = disposer.add('admin server', new HttpServer({ handler }), (it) => it.close());
  const port = await server.listen({
    host: adminHost,
    port: adminPort,
    isShared: supervision !== undefined,
  });
  return `http://${adminHost.includes(':') ? `[${adminHost}]` : adminHost}:${port}`;
}

/** Opens the sockets of this node on the port of its HTTP server. */
export function openSockets(
  { config, log, metrics, disposer, supervision }: PartOptions & Supervised,
  tickets: Tickets,
  { database, engine, store, cursors }: Data,
  { rights, authenticator, whereabouts, rateLimits, directory }: Access,
  { timeline }: Messaging,
  { http, server, origins }: Serving,
): Gateway {
  const gateway = new Gateway({
    database,
    files: store,
    engine,
    timeline,
    cursors,
    rights,
    authenticator,
    whereabouts,
    rateLimits,
    directory,
    tickets,
    http: server,
    refuse: (exchange, thrown) => http.refuse(exchange, thrown),
    failures: http.failures,
    origins,
    limits: config.socket,
    metrics,
    log,
    ...(supervision && { siblings: supervision }),
  });
  disposer.add('gateway', gateway, (it) => it.close());
  const { streams, broadcast } = gateway;
  const repair = new Repair({ database, files: store, engine, streams, cursors, broadcast, metrics, log });
  disposer.add('repair', repair, (it) => it.close());
  return gateway;
}
