import { type Metrics, metricsIn } from '../../platform/metrics.ts';

export type WebhookMetrics = ReturnType<typeof webhookMetrics>;

/** Adds the metrics of this feature to the registry of a node, once. */
export function webhookMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, gauge } = metricsIn(registry);
  return {
    webhookDeliveries: counter(
      'parley_webhook_deliveries_total',
      'Tries of webhook deliveries on this node, by outcome: delivered, retried (it failed, and is tried again), failed (for the last time), withdrawn',
      ['outcome'],
    ),
    webhookPending: gauge(
      'parley_webhook_deliveries_pending',
      'Deliveries that wait for a try or its outcome, up to 100,000',
    ),
    webhookPendingSeconds: gauge('parley_webhook_oldest_pending_seconds', 'Age of the oldest event of them'),
  };
}
