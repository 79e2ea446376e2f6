import { attention, type Check, counted, duration, ok } from '../../core/installation/check.ts';
import { readMetric } from '../../platform/metrics.ts';
import type { MailMetrics } from './metrics.ts';

/** Seconds within which a mail has been tried several times. */
const LATE_S = 900;

/** Returns the check that mail leaves, and that no machine answers another one. */
export function mailCheck(
  smtpUrl: string | null,
  metrics: Pick<MailMetrics, 'mailsWaiting' | 'mailsWaitingSeconds'>,
  countLoops: () => Promise<number>,
): Check {
  return {
    name: 'mail',
    section: 'when-mail-waits',
    async look() {
      if (smtpUrl === null) return ok('No mail is sent: PARLEY_SMTP_URL is not set.');
      const lateS = await readMetric(metrics.mailsWaitingSeconds);
      if (lateS > LATE_S) {
        const waiting = await readMetric(metrics.mailsWaiting);
        return attention(
          `Waiting: ${counted(waiting, 'mail')}, the oldest for ${duration(lateS)}. Look whether the SMTP server answers.`,
        );
      }
      const loops = await countLoops();
      return loops === 0
        ? ok('The SMTP server takes mail.')
        : attention(
            `Stopped within a day: ${counted(loops, 'mail')} of agents to addresses that answer by machine. The log has the cases. Answer there, or stop the agent.`,
          );
    },
  };
}
