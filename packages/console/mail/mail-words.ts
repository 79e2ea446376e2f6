import type { Email, EmailRecipient } from '@parley/protocol/resources/email.ts';
import { shortTimeOf } from '@parley/ui/text/time.ts';

type Status = NonNullable<EmailRecipient['status']> | 'canceled';

/** The words for the states of outgoing mail. */
export const MAIL_WORDS: Readonly<Record<Status, string>> = {
  queued: 'Waits to be sent',
  sent: 'Sent by mail',
  deferred: 'Delayed',
  bounced: 'Came back',
  failed: 'Not sent',
  canceled: 'Not sent',
};

/** Returns the look of a state. */
export function mailToneOf(status: Status): 'good' | 'bad' | 'busy' | 'quiet' {
  if (status === 'sent') return 'good';
  if (status === 'bounced' || status === 'failed') return 'bad';
  return status === 'canceled' ? 'quiet' : 'busy';
}

const REASONS: Readonly<Record<string, string>> = {
  no_transport: 'no mail server is configured',
  delayed: 'a server on the way holds it back',
  rejected: 'the server of the recipient refused it',
  connection_error: 'the mail server could not be reached',
  timeout: 'the mail server did not answer',
  not_authorized: 'the mail server refuses ours',
  attachment_unavailable: 'a file could not be read',
  internal_error: 'of an error in the service',
  account_inactive: 'the account is not active',
  expired: 'it could not be sent for five days',
  no_recipient: 'no customer of the case has an address',
  unproven: 'agents send nothing to an address that nothing proves',
  loop_limit: 'too many mails went back and forth',
  message_deleted: 'the message was deleted',
  inbox_removed: 'the inbox was removed',
  complaint: 'a recipient has complained about mail',
  read: 'the customer has read it meanwhile',
};

/** Returns the reason for a mail's state, and the server's answer; empty if nothing is known. */
export function whyOf({ reason, recipients, status, next_try_at }: Email): string {
  const words = reason === null ? '' : (REASONS[reason] ?? reason.replaceAll('_', ' '));
  const code = recipients.find((one) => one.code !== null && one.status === status)?.code;
  const next = next_try_at === null || status !== 'deferred' ? '' : `next try ${shortTimeOf(next_try_at)}`;
  return [words, code, next].filter(Boolean).join(', ');
}

/** Returns a subject without the prefixes of replies and forwards. */
export function bareSubject(subject: string): string {
  return subject.replace(/^(\s*(re|fwd?|aw|wg|sv|tr)\s*:\s*)+/i, '').trim();
}
