import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { BUILD } from './build.ts';

/**
 * The metrics that `GET /metrics` has beside prom-client's of the process, and beside those of
 * features, which add theirs when they are opened.
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

    httpRequests: counter(
      'parley_http_requests_total',
      'Requests answered, by method, route pattern and status',
      ['method', 'route', 'status'],
    ),
    /** From the request's headers to its answer. */
    httpSeconds: histogram(
      'parley_http_request_duration_seconds',
      'Time to answer a request, by method and route pattern',
      ['method', 'route'],
    ),

    httpHeldBytes: nodeGauge(
      'parley_http_held_answer_bytes',
      'Bytes of answers in memory that their clients have not taken yet',
    ),
    httpRefusals: counter(
      'parley_http_refusals_total',
      'Requests answered with the error envelope, by the code of the error',
      ['code'],
    ),
    encodedRowReads: counter(
      'parley_encoded_row_reads_total',
      'Rows that pages showed, by kind (rows) and outcome: hit (kept as JSON), miss (read and encoded)',
      ['rows', 'outcome'],
    ),
    encodedRowBytes: nodeGauge(
      'parley_encoded_row_bytes',
      'Bytes of memory that rows kept as JSON take, by kind (rows)',
      ['rows'],
    ),
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

    sends: counter('parley_sends_total', 'Messages committed into a timeline'),
    flushRows: histogram('parley_flush_rows', 'Messages written by one flush of the write path', [], ROWS),
    flushSeconds: histogram(
      'parley_flush_duration_seconds',
      'Time of one flush, from taking numbers to the commit',
    ),
    publishFailures: counter(
      'parley_publish_failures_total',
      'Frames that were not taken by the engine, and are repaired from Postgres',
    ),

    redisRoundTrip: histogram(
      'parley_redis_round_trip_seconds',
      'Time until a frame that this node publishes to itself over Redis is back, measured twice a second',
    ),
    uploadBytes: counter(
      'parley_upload_bytes_total',
      'Bytes of files taken in by this node; with S3 they go to the bucket and are not counted',
    ),

    outboxPending: gauge('parley_outbox_pending', 'Committed events whose effects are not done yet'),
    outboxLagSeconds: gauge('parley_outbox_lag_seconds', 'Age of the oldest of them'),
    outboxDead: gauge(
      'parley_outbox_dead',
      'Committed events whose effects failed for a week and are not tried any more',
    ),

    inboxWritten: counter(
      'parley_inbox_written_total',
      'Conversations whose inbox rows this node brought up to date',
    ),

    auditSealed: counter(
      'parley_audit_sealed_total',
      'Audit events that this node appended to the chain of their account',
    ),
    auditUnsealedSeconds: gauge(
      'parley_audit_unsealed_seconds',
      'Age of the oldest audit event that is not in the chain of its account yet',
    ),

    scheduledEnded: counter(
      'parley_scheduled_total',
      'Scheduled messages dealt with by this node, by result: sent, canceled (too late), failed',
      ['result'],
    ),
    scheduledLateness: histogram(
      'parley_scheduled_lateness_seconds',
      'From the time a message was scheduled for to its entry into the timeline',
      [],
      LATENESS,
    ),

    socketsOpen: nodeGauge('parley_sockets_open', 'Open sockets of this node'),
    socketsOpened: counter('parley_sockets_opened_total', 'Sockets opened on this node'),
    socketsRefused: counter(
      'parley_sockets_refused_total',
      'Handshakes refused by this node, by the code of the error',
      ['reason'],
    ),
    subscriptions: counter(
      'parley_subscriptions_total',
      'Requests to follow conversations, by op (subscribe, resume) and outcome: accepted, or the code of the error',
      ['op', 'outcome'],
    ),
    replays: counter(
      'parley_replays_total',
      'Catching up before a subscription is live, by outcome: joined, ended (given up by the client), lost (resync)',
      ['outcome'],
    ),
    ephemeralWithheld: counter(
      'parley_ephemeral_withheld_total',
      'Times a slow socket was taken off the ephemeral events of a conversation until it had caught up',
    ),
    /** One of 16: a distribution does not need two clock reads per message and stream. */
    deliverySeconds: histogram(
      'parley_delivery_duration_seconds',
      "From a message's writing, by the clock of Postgres, to its hand-over to this node's sockets; every 16th",
    ),
    socketsClosed: counter('parley_sockets_closed_total', 'Sockets closed by this node, by reason', [
      'reason',
    ]),
    /** Once per frame and audience of this node, not once per socket. */
    framesDelivered: counter('parley_frames_delivered_total', 'Frames handed to the sockets of this node'),

    /** Statements of Kysely are not included. */
    statements: counter('parley_statements_total', 'Prepared statements sent to Postgres, by name', ['name']),

    postgresErrors: counter(
      'parley_postgres_errors_total',
      'Errors of statements, by SQLSTATE, by the code of a socket, or "connection"; 23505 is part of everyday work',
      ['code'],
    ),
    /** For prepared statements on the pool; pipelined connections never wait. */
    postgresPoolWait: histogram(
      'parley_postgres_pool_wait_seconds',
      'Time until the pool gave a connection to a prepared statement',
    ),

    settles: counter('parley_settles_total', 'Times a reader met an unsettled number and settled it'),
    voids: counter('parley_voids_total', 'Numbers settled as no message'),
    numberCollisions: counter(
      'parley_number_collisions_total',
      'Times a message got another number because a message of another node had its own',
    ),
    numbersWithoutCounters: counter(
      'parley_numbers_without_counters_total',
      'Numbers taken from Postgres, because the counters in Redis were away',
    ),
    resends: counter(
      'parley_resends_total',
      'Sends answered with their original, found before (the insert) or after it, which made their number a void',
      ['found'],
    ),
    engineLostFrames: counter(
      'parley_engine_lost_frames_total',
      'Frames of other nodes that were lost on a link that stayed up',
    ),
    repairs: counter(
      'parley_repairs_total',
      'Repairs of streams from Postgres, by reason: frames (were lost), link (was away), silence (of another node), away (each second while a link is)',
      ['reason'],
    ),
    repairedStreams: counter(
      'parley_repaired_streams_total',
      'Streams of conversations and actors that these repairs read',
    ),
    engineHealthy: new Gauge({
      name: 'parley_engine_healthy',
      help: '1 while the link between nodes is proven, else 0',
      registers,
      aggregator: 'omit',
    }),
  };
}

/** Returns what makes metrics in a registry. */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers });
  /** What every node of a deployment reads alike, so that nodes of one `/metrics` are not added. */
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers, aggregator: 'max' });
  /** What each node has its own of. */
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

/** Returns what a counter or gauge of this node stands at, over all its labels. */
export async function readMetric(metric: Counter<string> | Gauge<string>): Promise<number> {
  const { values } = await metric.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

/** Single milliseconds at the low end, up to the deadline of a request. */
const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** From the polling interval of the queue (db/queue/job-worker.ts) to the length of an outage. */
const LATENESS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600, 3_600, 86_400];
