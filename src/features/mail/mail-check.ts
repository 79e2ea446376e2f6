import { attention, type Check, counted, duration, ok } from '../../core/installation/check.ts';
import { readMetric } from '../../platform/metrics.ts';
import type { MailMetrics } from './metrics.ts';

/** Seconds within which a mail has been tried several times. */
const LATE_S = 900;

/** Returns the check that mail leaves. */
export function mailCheck(
  smtpUrl: string | null,
  metrics: Pick<MailMetrics, 'mailsWaiting' | 'mailsWaitingSeconds'>,
): Check {
  return {
    name: 'mail',
    section: 'when-mail-waits',
    async look() {
      if (smtpUrl === null) return ok('No mail is sent: PARLEY_SMTP_URL is not set.');
      const lateS = await readMetric(metrics.mailsWaitingSeconds);
      if (lateS <= LATE_S) return ok('The SMTP server takes mail.');
      const waiting = await readMetric(metrics.mailsWaiting);
      return attention(
        `Waiting: ${counted(waiting, 'mail')}, the oldest for ${duration(lateS)}. Look whether the SMTP server answers.`,
      );
    },
  };
}
