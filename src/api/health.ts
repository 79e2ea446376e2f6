import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Registry } from 'prom-client';
import type { Database } from '../platform/db/connection/database.ts';
import type { ReachedLimit } from '../platform/db/connection/places.ts';
import { statement } from '../platform/db/connection/statement.ts';
import type { ShortageKind } from '../platform/db/connection/unavailable.ts';
import type { EngineShard } from '../platform/engine/engine.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { PublicRoutes } from './pipeline/public-routes.ts';

export interface HealthOptions {
  readonly database: Database;
  readonly engine: Pick<EngineShard, 'healthy'>;
  /** Undefined if files are stored elsewhere. */
  readonly files: { readonly full: boolean } | undefined;
  readonly draining: () => boolean;
}

export interface HealthOfAll {
  /** The health of each node that listens and has answered in time. */
  readonly nodes: readonly AskedHealth[];
  /** Expected number of nodes. */
  readonly processes: number;
}

/** All nodes of a supervisor, for which each node answers. Absent without a supervisor. */
export interface WholeMachine {
  health(): Promise<HealthOfAll>;
  /** Returns the text of `/metrics`. */
  metrics(): Promise<string>;
}

/** A node's knowledge of its parts, without a look at Postgres. */
export interface Health {
  readonly engine: 'up' | 'away';
  readonly postgres: 'up' | 'away' | 'too_many_connections' | ShortageKind;
  /** With `too_many_connections`: the limit that is reached. */
  readonly postgres_connections?: ReachedLimit;
  /** Absent if files are stored elsewhere. */
  readonly files?: 'up' | 'disk_full';
  readonly draining: boolean;
}

/** A node's health after a question to Postgres. */
export interface AskedHealth extends Health {
  /** Whether the node can serve: without the engine, or with a full disk, it still does. */
  readonly status: 'ready' | 'not_ready';
}

export function healthOf(options: HealthOptions): Health {
  return healthWhere(options, options.database.connected);
}

/** Returns the health of a node after a question to Postgres. Never rejects. */
export async function askedHealth(options: HealthOptions): Promise<AskedHealth> {
  const isUp = (await isAnswering(options.database)) && options.database.connected;
  const health = healthWhere(options, isUp);
  return { status: isUp && !health.draining ? 'ready' : 'not_ready', ...health };
}

function healthWhere({ database, engine, files, draining }: HealthOptions, isUp: boolean): Health {
  const { reached } = database.places;
  const postgres =
    reached === undefined ? (isUp ? (database.shortage ?? 'up') : 'away') : 'too_many_connections';
  return {
    engine: engine.healthy ? 'up' : 'away',
    postgres,
    ...(reached !== undefined && { postgres_connections: reached }),
    ...(files !== undefined && { files: files.full ? 'disk_full' : 'up' }),
    draining: draining(),
  };
}

/** Asks Postgres. Never rejects. */
export function isAnswering(database: Pick<Database, 'query'>): Promise<boolean> {
  return database.query(PROBE).then(
    () => true,
    () => false,
  );
}

/** Endpoints for load balancers: `/healthz`, the process runs; `/readyz`, it can serve. */
export function healthRoutes(options: HealthOptions, whole?: WholeMachine): PublicRoutes {
  return {
    '/healthz': () => json(200, { status: 'up' }),
    '/readyz': async () => {
      const own = await askedHealth(options);
      if (whole === undefined) return readiness(own);
      const { nodes, processes } = await whole.health();
      const ready = nodes.filter(({ status }) => status === 'ready');
      // One node that can serve is enough: the others get no connections, or can serve as well.
      return readiness(ready[0] ?? own, { processes: { ready: ready.length, of: processes } });
    },
  };
}

function readiness(health: AskedHealth, more: object = {}) {
  return json(health.status === 'ready' ? 200 : 503, { ...health, ...more });
}

export function metricsRoutes(
  metrics: Metrics,
  engine: HealthOptions['engine'],
  whole?: WholeMachine,
): PublicRoutes {
  return {
    '/metrics': async () => ({
      status: 200,
      body: await (whole?.metrics() ?? ofNode(metrics, engine).metrics()),
      headers: { 'Content-Type': metrics.registry.contentType },
    }),
  };
}

/** The address of the metrics on the port of the API, where callers would read them too. */
export const METRICS_ELSEWHERE: PublicRoutes = {
  '/metrics': () => {
    throw new ApiError(
      'resource_not_found',
      'The metrics are on the admin port: set PARLEY_ADMIN_PORT, and PARLEY_ADMIN_HOST if another machine reads them.',
    );
  },
};

/** Returns a node's registry with the measurements that are made only when it is read. */
export function ofNode({ registry, engineHealthy }: Metrics, engine: HealthOptions['engine']): Registry {
  engineHealthy.set(engine.healthy ? 1 : 0);
  return registry;
}

/** Adds `/`, which lists the paths of `routes`. */
export function adminRoutes(routes: PublicRoutes): PublicRoutes {
  return { '/': () => json(200, { paths: Object.keys(routes) }), ...routes };
}

const PROBE = statement('probe')`SELECT 1 AS up`;

function json(status: number, value: object) {
  return { status, body: JSON.stringify(value) };
}
