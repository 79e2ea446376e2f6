import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { BUILD } from './build.ts';

/**
 * The metrics that any server has, beside prom-client's metrics of the process. Code built on it
 * adds its own to the registry, each in a `metrics.ts`, and `GET /metrics` has all of these.
 */
export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Creates a registry per call: nodes in one process (tests, the bench) do not share counts.
 * `ofProcess`: whether it observes the process too.
 */
export function createMetrics({ ofProcess = true } = {}) {
  const registry = new Registry();
  // The monitor wakes an idle process as often as it looks, at its default a hundred times a
  // second.
  if (ofProcess) collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 500 });
  // Checkers of metrics refuse these gauges, which have names of counters. The sums of their
  // namesakes say the same.
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }
  const { counter, gauge, nodeGauge, histogram } = metricsIn(registry);
  const registers = [registry];
  return {
    registry,

    buildInfo: new Gauge({
      name: 'parley_build_info',
      help: '1, with the version of Parley and of its Node as labels',
      labelNames: ['version', 'node'],
      registers,
      aggregator: 'max',
      collect() {
        this.set({ ...BUILD }, 1);
      },
    }),

    httpHeldBytes: nodeGauge(
      'parley_http_held_answer_bytes',
      'Bytes of answers in memory that their clients have not taken yet',
    ),

    /** Statements of Kysely are not included. */
    statements: counter('parley_statements_total', 'Prepared statements sent to Postgres, by name', ['name']),
    postgresErrors: counter(
      'parley_postgres_errors_total',
      'Errors of statements, by SQLSTATE, by the code of a socket, or "connection"; 23505 is part of everyday work',
      ['code'],
    ),
    /** Covers prepared statements on the pool; pipelined connections never wait. */
    postgresPoolWait: histogram(
      'parley_postgres_pool_wait_seconds',
      'Time until the pool gave a connection to a prepared statement',
    ),

    postgresConnections: gauge(
      'parley_postgres_connections',
      'Connections of all clients that count towards a limit (server, database, role), when they were last counted: at the start, and where Postgres refuses one',
      ['limited_by'],
    ),
    postgresConnectionLimit: gauge(
      'parley_postgres_connection_limit',
      'The limits of these connections; absent where there is none',
      ['limited_by'],
    ),

    outboxPending: gauge('parley_outbox_pending', 'Committed events whose effects are not done yet'),
    outboxLagSeconds: gauge('parley_outbox_lag_seconds', 'Age of the oldest of them'),
    outboxDead: gauge(
      'parley_outbox_dead',
      'Committed events whose effects failed for a week and are not tried any more',
    ),

    redisRoundTrip: histogram(
      'parley_redis_round_trip_seconds',
      'Time until a frame that this node publishes to itself over Redis is back, measured twice a second',
    ),
    engineHealthy: new Gauge({
      name: 'parley_engine_healthy',
      help: '1 while the link between nodes is proven, else 0',
      registers,
      aggregator: 'omit',
    }),
  };
}

/** Returns the functions that make metrics in a registry. */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers });
  /** A value that every node of a deployment reads alike: nodes of one `/metrics` are not added. */
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers, aggregator: 'max' });
  /** A value that each node has of its own: nodes of one `/metrics` are added. */
  const nodeGauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers, aggregator: 'sum' });
  const histogram = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    buckets = SECONDS,
  ) => new Histogram({ name, help, labelNames, buckets, registers });
  return { counter, gauge, nodeGauge, histogram };
}

/** A metric whose value is a number. */
export type Measure = Counter<string> | Gauge<string>;

/** Returns the value of this node's counter or gauge, over all its labels. */
export async function readMetric(metric: Measure): Promise<number> {
  const { values } = await metric.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

/** Single milliseconds at the low end, up to the deadline of a request. */
const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
