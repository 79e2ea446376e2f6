import { type Metrics, metricsIn } from '../../platform/metrics.ts';

export type PushMetrics = ReturnType<typeof pushMetrics>;

/** Adds the metrics of this feature to the registry of a node, once. */
export function pushMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, gauge, histogram } = metricsIn(registry);
  return {
    pushTries: counter(
      'parley_push_tries_total',
      'Pushes of this node, to browsers and to phones, by outcome: accepted, gone, refused, busy (429), failed, unauthorized (the credential of an app is refused); obsolete: seen or not wanted any more, so not sent',
      ['to', 'outcome'],
    ),
    pushSeconds: histogram(
      'parley_push_duration_seconds',
      'Time until a push service answered, or was given up',
    ),
    pushEnded: counter(
      'parley_push_subscriptions_ended_total',
      'Push subscriptions that this node has ended, by reason: gone (404, 410), failing, stale (expired, or of another key)',
      ['reason'],
    ),
    pushPending: gauge('parley_push_pending', 'Pushes that wait for their try, of all nodes', ['to']),
    pushLagSeconds: gauge('parley_push_lag_seconds', 'How late the push is that has been due for longest', [
      'to',
    ]),
    digests: counter('parley_digests_total', 'Digests of unseen notifications that this node has queued'),
    digestsWaiting: gauge('parley_digests_waiting', 'Digests that wait for their transport, of all nodes'),
  };
}
