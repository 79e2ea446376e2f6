import { oneLine } from '@parley/protocol/schema/one-line.ts';
import { NEUTRAL_SUBJECT } from '../../../core/messages/removal/withdraw-content.ts';
import type { ReplyFacts } from './reply-store.ts';

/** Characters of a subject. Mail programs show fewer. */
const MAX_CHARACTERS = 250;

/**
 * Returns the subject of the next mail of a case: the message's, else the thread's after one `Re:`,
 * else the title of the case.
 */
export function replySubject(facts: ReplyFacts): string {
  const { subject, thread_subject, answers } = facts;
  const base = threadSubject(facts);
  const isAnswer = answers !== null && (subject === null || withoutPrefixes(subject) === thread_subject);
  const isMarked = subject !== null && PREFIXES.test(subject.trim());
  return isAnswer || isMarked ? `Re: ${base}` : base;
}

/** Returns the subject without `Re:`, as the thread keeps it. */
export function threadSubject({
  subject,
  thread_subject,
  title,
  account_name,
}: Pick<ReplyFacts, 'subject' | 'thread_subject' | 'title' | 'account_name'>): string {
  for (const text of [subject, thread_subject, title]) {
    const base = withoutPrefixes(text ?? '');
    if (base !== '') return base;
  }
  return withoutPrefixes(`${NEUTRAL_SUBJECT}${account_name}`);
}

/** Returns a subject on one line, without the prefixes of answers and forwards. */
export function withoutPrefixes(subject: string): string {
  return [...oneLine(subject).replace(PREFIXES, '').trim()].slice(0, MAX_CHARACTERS).join('');
}

/** `Re:` and its equivalents in other languages, repeated or not, with or without a number. */
const PREFIXES = /^(?:(?:re|aw|sv|antw|odp|vs|rif|res)(?:\[\d+\]|\(\d+\))?\s*[:：]\s*)+/iu;
