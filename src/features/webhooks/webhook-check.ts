import { attention, type Check, duration, ok } from '../../core/installation/check.ts';
import { readMetric } from '../../platform/metrics.ts';
import type { WebhookMetrics } from './metrics.ts';

/** Seconds within which an event has been tried several times. */
const LATE_S = 600;

/** Returns the check that receivers accept their events. */
export function webhookCheck(
  metrics: Pick<WebhookMetrics, 'webhookPending' | 'webhookPendingSeconds'>,
): Check {
  return {
    name: 'webhooks',
    section: 'when-webhooks-wait',
    async look() {
      const lateS = await readMetric(metrics.webhookPendingSeconds);
      if (lateS <= LATE_S) return ok('Receivers take their events.');
      const pending = await readMetric(metrics.webhookPending);
      return attention(
        `Events that wait: ${pending}, the oldest for ${duration(lateS)}. Look which receiver fails, and why.`,
      );
    },
  };
}
