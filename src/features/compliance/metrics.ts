import { type Metrics, metricsIn } from '../../platform/metrics.ts';

export type ComplianceMetrics = ReturnType<typeof complianceMetrics>;

/** Adds the metrics of this feature to the registry of a node, once. */
export function complianceMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, gauge } = metricsIn(registry);
  return {
    retentionOldest: gauge(
      'parley_retention_oldest_past_policy_seconds',
      'By how much the oldest row that no hold keeps is older than its policy, by kind: messages, files, notifications, runs, audit',
      ['kind'],
    ),
    retentionSwept: gauge(
      'parley_retention_last_sweep_timestamp_seconds',
      'When the last sweep left nothing older than its policy: the account that waits longest',
    ),
    retentionRemoved: counter(
      'parley_retention_removed_total',
      'Rows that sweeps of this node have removed, by kind: messages, files, notifications, runs, audit',
      ['kind'],
    ),
  };
}
