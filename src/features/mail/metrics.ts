import { type Metrics, metricsIn } from '../../platform/metrics.ts';

export type MailMetrics = ReturnType<typeof mailMetrics>;

/** Adds the metrics of this feature to the registry of a node, once. */
export function mailMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, gauge, histogram } = metricsIn(registry);
  return {
    mailReceived: counter(
      'parley_mail_received_total',
      'Mails that came in, for each inbox, by transport (http, smtp, lmtp, imap) and result: accepted, ignored, refused, failed (the sender tries again)',
      ['transport', 'result'],
    ),
    mailReceiveSeconds: histogram(
      'parley_mail_receive_duration_seconds',
      'Time from the first byte of a mail to the commit of what became of it, by transport',
      ['transport'],
    ),
    mailRefusals: counter(
      'parley_mail_refusals_total',
      'Refusals before a mail was taken in, by transport and reason: signature, limit, recipient, size, other',
      ['transport', 'reason'],
    ),
    mailsSent: counter(
      'parley_mail_sent_total',
      'Tries to send a mail on this node, by outcome: sent, deferred (it is tried again), failed, canceled (before it left)',
      ['outcome'],
    ),
    mailSendSeconds: histogram(
      'parley_mail_send_duration_seconds',
      'Time for a try to hand a mail to the SMTP server',
    ),
    mailsWaiting: gauge('parley_mail_waiting', 'Mails that wait for a try or its outcome'),
    mailsWaitingSeconds: gauge('parley_mail_oldest_waiting_seconds', 'Age of the oldest of them'),
  };
}
