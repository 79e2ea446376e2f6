import type { Database } from './db/connection/database.ts';
import { statement } from './db/connection/statement.ts';
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

/** Endpoints for load balancers: `/healthz`, the process runs; `/readyz`, it can serve. */
export function healthRoutes({ database, engine, files, draining }: HealthOptions): PublicRoutes {
  return {
    '/healthz': () => json(200, { status: 'up' }),
    '/readyz': async () => {
      const postgres = await database.query(PROBE).then(
        () => (database.connected ? (database.shortage ?? 'up') : 'away'),
        () => 'away',
      );
      const ready = postgres !== 'away' && !draining();
      // Without the engine, or with a full disk, a node still reads and delivers.
      const state = {
        engine: engine.healthy ? 'up' : 'away',
        postgres,
        ...(files !== undefined && { files: files.full ? 'disk_full' : 'up' }),
        draining: draining(),
      };
      return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not_ready', ...state });
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
