import type { Database } from './db/connection/database.ts';
import { statement } from './db/connection/statement.ts';
import type { ShortageKind } from './db/connection/unavailable.ts';
import type { Engine } from './engine/engine.ts';
import type { PublicRoutes } from './http/pipeline/public-routes.ts';
import type { Metrics } from './metrics.ts';

export interface HealthOptions {
  readonly database: Database;
  readonly engine: Engine;
  /** Undefined if files are stored elsewhere. */
  readonly files: { readonly full: boolean } | undefined;
  readonly draining: () => boolean;
}

/** What a node knows of its parts, without a look at Postgres. */
export interface Health {
  readonly engine: 'up' | 'away';
  readonly postgres: 'up' | 'away' | ShortageKind;
  /** Absent if files are stored elsewhere. */
  readonly files?: 'up' | 'disk_full';
  readonly draining: boolean;
}

export function healthOf({ database, engine, files, draining }: HealthOptions): Health {
  return {
    engine: engine.healthy ? 'up' : 'away',
    postgres: database.connected ? (database.shortage ?? 'up') : 'away',
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
export function healthRoutes(options: HealthOptions): PublicRoutes {
  return {
    '/healthz': () => json(200, { status: 'up' }),
    '/readyz': async () => {
      const answers = await isAnswering(options.database);
      const health = healthOf(options);
      const postgres = answers ? health.postgres : 'away';
      // Without the engine, or with a full disk, a node still reads and delivers.
      const ready = postgres !== 'away' && !health.draining;
      return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not_ready', ...health, postgres });
    },
  };
}

export function metricsRoutes({ registry, engineHealthy }: Metrics, engine: Engine): PublicRoutes {
  return {
    '/metrics': async () => {
      engineHealthy.set(engine.healthy ? 1 : 0);
      return {
        status: 200,
        body: await registry.metrics(),
        headers: { 'Content-Type': registry.contentType },
      };
    },
  };
}

/** Adds `/`, which lists the paths of `routes`. */
export function adminRoutes(routes: PublicRoutes): PublicRoutes {
  return { '/': () => json(200, { paths: Object.keys(routes) }), ...routes };
}

const PROBE = statement('probe')`SELECT 1 AS up`;

function json(status: number, value: object) {
  return { status, body: JSON.stringify(value) };
}
