import { type Metrics, metricsIn } from '../platform/metrics.ts';

export type CoreMetrics = ReturnType<typeof coreMetrics>;

/** Adds the metrics of the core to the registry of a node, once. */
export function coreMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, gauge, nodeGauge, histogram } = metricsIn(registry);
  return {
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

    uploadBytes: counter(
      'parley_upload_bytes_total',
      'Bytes of files taken in by this node; with S3 they go to the bucket and are not counted',
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
  };
}

const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/**
 * Seconds, from the polling interval of the queue (platform/db/queue/job-worker.ts) to an outage.
 */
const LATENESS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600, 3_600, 86_400];
