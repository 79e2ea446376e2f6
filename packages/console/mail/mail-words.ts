import type { Email, EmailRecipient } from '@parley/protocol/resources/email.ts';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import { texts } from '../texts/texts.ts';

type Status = NonNullable<EmailRecipient['status']> | 'canceled';

/** The words for the states of outgoing mail. */
export const MAIL_WORDS: Readonly<Record<Status, string>> = texts.mail.states;

/** Returns the look of a state. */
export function mailToneOf(status: Status): 'good' | 'bad' | 'busy' | 'quiet' {
  if (status === 'sent') return 'good';
  if (status === 'bounced' || status === 'failed') return 'bad';
  return status === 'canceled' ? 'quiet' : 'busy';
}

const REASONS: Readonly<Record<string, string>> = texts.mail.reasons;

/** Returns the reason for a mail's state, and the server's answer; empty if nothing is known. */
export function whyOf({ reason, recipients, status, next_try_at }: Email): string {
  const words = reason === null ? '' : (REASONS[reason] ?? reason.replaceAll('_', ' '));
  const code = recipients.find((one) => one.code !== null && one.status === status)?.code;
  const next =
    next_try_at === null || status !== 'deferred' ? '' : texts.mail.nextTry(shortTimeOf(next_try_at));
  return [words, code, next].filter(Boolean).join(', ');
}

/** Returns a subject without the prefixes of replies and forwards. */
export function bareSubject(subject: string): string {
  return subject.replace(/^(\s*(re|fwd?|aw|wg|sv|tr)\s*:\s*)+/i, '').trim();
}
