import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { BUILD } from './build.ts';

/** Every metric that `GET /metrics` has beside prom-client's metrics of the process. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates a registry per call: nodes in one process (tests, the bench) do not share counts. */
export function createMetrics() {
  const registry = new Registry();
  // At the default of 10 ms, the monitor caused 95 of the 105 wake-ups a second of an idle process.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  // Checkers of metrics refuse these gauges, which have names of counters. The sums of their
  // namesakes say the same.
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }
  const registers = [registry];

  return {
    registry,

    httpRequests: new Counter({
      name: 'parley_http_requests_total',
      help: 'Requests answered, by method, route pattern and status',
      labelNames: ['method', 'route', 'status'],
      registers,
    }),
    /** From the request's headers to its answer. */
    httpSeconds: new Histogram({
      name: 'parley_http_request_duration_seconds',
      help: 'Time to answer a request, by method and route pattern',
      labelNames: ['method', 'route'],
      buckets: SECONDS,
      registers,
    }),

    httpHeldBytes: new Gauge({
      name: 'parley_http_held_answer_bytes',
      help: 'Bytes of answers in memory that their clients have not taken yet',
      registers,
    }),
    httpRefusals: new Counter({
      name: 'parley_http_refusals_total',
      help: 'Requests answered with the error envelope, by the code of the error',
      labelNames: ['code'],
      registers,
    }),
    encodedRowReads: new Counter({
      name: 'parley_encoded_row_reads_total',
      help: 'Rows that pages showed, by kind (rows) and outcome: hit (kept as JSON), miss (read and encoded)',
      labelNames: ['rows', 'outcome'],
      registers,
    }),
    encodedRowBytes: new Gauge({
      name: 'parley_encoded_row_bytes',
      help: 'Bytes of memory that rows kept as JSON take, by kind (rows)',
      labelNames: ['rows'],
      registers,
    }),
    buildInfo: new Gauge({
      name: 'parley_build_info',
      help: '1, with the version of Parley and of its Node as labels',
      labelNames: ['version', 'node'],
      registers,
      collect() {
        this.set({ ...BUILD }, 1);
      },
    }),

    sends: new Counter({
      name: 'parley_sends_total',
      help: 'Messages committed into a timeline',
      registers,
    }),
    flushRows: new Histogram({
      name: 'parley_flush_rows',
      help: 'Messages written by one flush of the write path',
      buckets: ROWS,
      registers,
    }),
    flushSeconds: new Histogram({
      name: 'parley_flush_duration_seconds',
      help: 'Time of one flush, from taking numbers to the commit',
      buckets: SECONDS,
      registers,
    }),
    publishFailures: new Counter({
      name: 'parley_publish_failures_total',
      help: 'Frames that were not taken by the engine, and are repaired from Postgres',
      registers,
    }),

    redisRoundTrip: new Histogram({
      name: 'parley_redis_round_trip_seconds',
      help: 'Time until a frame that this node publishes to itself over Redis is back, measured once a second',
      buckets: SECONDS,
      registers,
    }),
    uploadBytes: new Counter({
      name: 'parley_upload_bytes_total',
      help: 'Bytes of files taken in by this node; with S3 they go to the bucket and are not counted',
      registers,
    }),

    modelSeconds: new Histogram({
      name: 'parley_model_turn_duration_seconds',
      help: 'Time of a turn of an agent until its answer was whole, failovers included, by the provider that answered',
      labelNames: ['provider'],
      buckets: TURN_SECONDS,
      registers,
    }),
    modelTokens: new Counter({
      name: 'parley_model_tokens_total',
      help: 'Tokens that providers report, by provider and direction: input, output',
      labelNames: ['provider', 'direction'],
      registers,
    }),
    modelCost: new Counter({
      name: 'parley_model_cost_dollars_total',
      help: 'US dollars at list price, of models whose prices are known',
      labelNames: ['provider'],
      registers,
    }),
    modelFailovers: new Counter({
      name: 'parley_model_failovers_total',
      help: 'Turns that went on with the next model, by the provider that failed and the reason',
      labelNames: ['provider', 'reason'],
      registers,
    }),
    agentRunsActive: new Gauge({
      name: 'parley_agent_runs_active',
      help: 'Runs of agents that this node is at',
      registers,
    }),
    agentRuns: new Counter({
      name: 'parley_agent_runs_total',
      help: 'Runs that this node has ended or paused, by what became of them',
      labelNames: ['outcome'],
      registers,
    }),

    outboxPending: new Gauge({
      name: 'parley_outbox_pending',
      help: 'Committed events whose effects are not done yet',
      registers,
    }),
    outboxLagSeconds: new Gauge({
      name: 'parley_outbox_lag_seconds',
      help: 'Age of the oldest of them',
      registers,
    }),
    outboxDead: new Gauge({
      name: 'parley_outbox_dead',
      help: 'Committed events whose effects failed for a week and are not tried any more',
      registers,
    }),

    inboxWritten: new Counter({
      name: 'parley_inbox_written_total',
      help: 'Conversations whose inbox rows this node brought up to date',
      registers,
    }),

    auditSealed: new Counter({
      name: 'parley_audit_sealed_total',
      help: 'Audit events that this node appended to the chain of their account',
      registers,
    }),
    searchIndexed: new Counter({
      name: 'parley_search_indexed_messages_total',
      help: 'Messages that this node read to index them for search; those of a block that is written again count again',
      registers,
    }),
    searchLagSeconds: new Gauge({
      name: 'parley_search_lag_seconds',
      help: 'Age of the oldest change that is not in the index of the search; 0 if every change is',
      registers,
    }),
    searchRoundSeconds: new Histogram({
      name: 'parley_search_round_duration_seconds',
      help: 'Time of one round of indexing for search, with its rests',
      buckets: SECONDS,
      registers,
    }),
    auditUnsealedSeconds: new Gauge({
      name: 'parley_audit_unsealed_seconds',
      help: 'Age of the oldest audit event that is not in the chain of its account yet',
      registers,
    }),

    retentionOldest: new Gauge({
      name: 'parley_retention_oldest_past_policy_seconds',
      help: 'By how much the oldest row that no hold keeps is older than its policy, by kind: messages, files, notifications, runs, audit',
      labelNames: ['kind'],
      registers,
    }),
    retentionSwept: new Gauge({
      name: 'parley_retention_last_sweep_timestamp_seconds',
      help: 'When the last sweep left nothing older than its policy: the account that waits longest',
      registers,
    }),
    retentionRemoved: new Counter({
      name: 'parley_retention_removed_total',
      help: 'Rows that sweeps of this node have removed, by kind: messages, files, notifications, runs, audit',
      labelNames: ['kind'],
      registers,
    }),

    pushTries: new Counter({
      name: 'parley_push_tries_total',
      help: 'Web pushes of this node, by outcome: accepted, gone, refused, busy (429), failed; obsolete: seen or not wanted any more, so not sent',
      labelNames: ['outcome'],
      registers,
    }),
    pushSeconds: new Histogram({
      name: 'parley_push_duration_seconds',
      help: 'Time until a push service answered, or was given up',
      buckets: SECONDS,
      registers,
    }),
    pushEnded: new Counter({
      name: 'parley_push_subscriptions_ended_total',
      help: 'Push subscriptions that this node has ended, by reason: gone (404, 410), failing, stale (expired, or of another key)',
      labelNames: ['reason'],
      registers,
    }),
    pushPending: new Gauge({
      name: 'parley_push_pending',
      help: 'Pushes that wait for their try, of all nodes',
      registers,
    }),
    pushLagSeconds: new Gauge({
      name: 'parley_push_lag_seconds',
      help: 'How late the push is that has been due for longest',
      registers,
    }),
    digests: new Counter({
      name: 'parley_digests_total',
      help: 'Digests of unseen notifications that this node has queued',
      registers,
    }),
    digestsWaiting: new Gauge({
      name: 'parley_digests_waiting',
      help: 'Digests that wait for their transport, of all nodes',
      registers,
    }),

    mailReceived: new Counter({
      name: 'parley_mail_received_total',
      help: 'Mails that came in, for each inbox, by transport (http, smtp, lmtp, imap) and result: accepted, ignored, refused, failed (the sender tries again)',
      labelNames: ['transport', 'result'],
      registers,
    }),
    mailReceiveSeconds: new Histogram({
      name: 'parley_mail_receive_duration_seconds',
      help: 'Time from the first byte of a mail to the commit of what became of it, by transport',
      labelNames: ['transport'],
      buckets: SECONDS,
      registers,
    }),
    mailRefusals: new Counter({
      name: 'parley_mail_refusals_total',
      help: 'Refusals before a mail was taken in, by transport and reason: signature, limit, recipient, size, other',
      labelNames: ['transport', 'reason'],
      registers,
    }),
    mailsSent: new Counter({
      name: 'parley_mail_sent_total',
      help: 'Tries to send a mail on this node, by outcome: sent, deferred (it is tried again), failed, canceled (before it left)',
      labelNames: ['outcome'],
      registers,
    }),
    mailSendSeconds: new Histogram({
      name: 'parley_mail_send_duration_seconds',
      help: 'Time for a try to hand a mail to the SMTP server',
      buckets: SECONDS,
      registers,
    }),
    mailsWaiting: new Gauge({
      name: 'parley_mail_waiting',
      help: 'Mails that wait for a try or its outcome',
      registers,
    }),
    mailsWaitingSeconds: new Gauge({
      name: 'parley_mail_oldest_waiting_seconds',
      help: 'Age of the oldest of them',
      registers,
    }),
    webhookDeliveries: new Counter({
      name: 'parley_webhook_deliveries_total',
      help: 'Tries of webhook deliveries on this node, by outcome: delivered, retried (it failed, and is tried again), failed (for the last time), withdrawn',
      labelNames: ['outcome'],
      registers,
    }),
    webhookPending: new Gauge({
      name: 'parley_webhook_deliveries_pending',
      help: 'Deliveries that wait for a try or its outcome, up to 100,000',
      registers,
    }),
    webhookPendingSeconds: new Gauge({
      name: 'parley_webhook_oldest_pending_seconds',
      help: 'Age of the oldest event of them',
      registers,
    }),

    scheduledEnded: new Counter({
      name: 'parley_scheduled_total',
      help: 'Scheduled messages dealt with by this node, by result: sent, canceled (too late), failed',
      labelNames: ['result'],
      registers,
    }),
    scheduledLateness: new Histogram({
      name: 'parley_scheduled_lateness_seconds',
      help: 'From the time a message was scheduled for to its entry into the timeline',
      buckets: LATENESS,
      registers,
    }),

    socketsOpen: new Gauge({
      name: 'parley_sockets_open',
      help: 'Open sockets of this node',
      registers,
    }),
    socketsOpened: new Counter({
      name: 'parley_sockets_opened_total',
      help: 'Sockets opened on this node',
      registers,
    }),
    socketsRefused: new Counter({
      name: 'parley_sockets_refused_total',
      help: 'Handshakes refused by this node, by the code of the error',
      labelNames: ['reason'],
      registers,
    }),
    subscriptions: new Counter({
      name: 'parley_subscriptions_total',
      help: 'Requests to follow conversations, by op (subscribe, resume) and outcome: accepted, or the code of the error',
      labelNames: ['op', 'outcome'],
      registers,
    }),
    replays: new Counter({
      name: 'parley_replays_total',
      help: 'Catching up before a subscription is live, by outcome: joined, ended (given up by the client), lost (resync)',
      labelNames: ['outcome'],
      registers,
    }),
    ephemeralWithheld: new Counter({
      name: 'parley_ephemeral_withheld_total',
      help: 'Times a slow socket was taken off the ephemeral events of a conversation until it had caught up',
      registers,
    }),
    /** One of 16: a distribution does not need two clock reads per message and stream. */
    deliverySeconds: new Histogram({
      name: 'parley_delivery_duration_seconds',
      help: "From a message's writing, by the clock of Postgres, to its hand-over to this node's sockets; every 16th",
      buckets: SECONDS,
      registers,
    }),
    socketsClosed: new Counter({
      name: 'parley_sockets_closed_total',
      help: 'Sockets closed by this node, by reason',
      labelNames: ['reason'],
      registers,
    }),
    /** Once per frame and audience of this node, not once per socket. */
    framesDelivered: new Counter({
      name: 'parley_frames_delivered_total',
      help: 'Frames handed to the sockets of this node',
      registers,
    }),

    /** Statements of Kysely are not included. */
    statements: new Counter({
      name: 'parley_statements_total',
      help: 'Prepared statements sent to Postgres, by name',
      labelNames: ['name'],
      registers,
    }),

    postgresErrors: new Counter({
      name: 'parley_postgres_errors_total',
      help: 'Errors of statements, by SQLSTATE, by the code of a socket, or "connection"; 23505 is part of everyday work',
      labelNames: ['code'],
      registers,
    }),
    /** For prepared statements on the pool; pipelined connections never wait. */
    postgresPoolWait: new Histogram({
      name: 'parley_postgres_pool_wait_seconds',
      help: 'Time until the pool gave a connection to a prepared statement',
      buckets: SECONDS,
      registers,
    }),

    settles: new Counter({
      name: 'parley_settles_total',
      help: 'Times a reader met an unsettled number and settled it',
      registers,
    }),
    voids: new Counter({
      name: 'parley_voids_total',
      help: 'Numbers settled as no message',
      registers,
    }),
    resends: new Counter({
      name: 'parley_resends_total',
      help: 'Sends answered with their original, found before (the insert) or after it, which made their number a void',
      labelNames: ['found'],
      registers,
    }),
    engineLostFrames: new Counter({
      name: 'parley_engine_lost_frames_total',
      help: 'Frames of other nodes that were lost on a link that stayed up',
      registers,
    }),
    repairs: new Counter({
      name: 'parley_repairs_total',
      help: 'Repairs of streams from Postgres, by reason: frames (were lost), link (was away), silence (of another node)',
      labelNames: ['reason'],
      registers,
    }),
    repairedStreams: new Counter({
      name: 'parley_repaired_streams_total',
      help: 'Streams of conversations and actors that these repairs read',
      registers,
    }),
    engineHealthy: new Gauge({
      name: 'parley_engine_healthy',
      help: '1 while the link between nodes is proven, else 0',
      registers,
    }),
  };
}

/** Single milliseconds at the low end, up to the deadline of a request. */
const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** From a model that answers in one word to one that thinks for minutes. */
const TURN_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** From the polling interval of the queue (app/jobs/job-worker.ts) to the length of an outage. */
const LATENESS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600, 3_600, 86_400];
