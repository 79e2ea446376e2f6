import { NEUTRAL_SUBJECT } from '../../../core/messages/mail-content-store.ts';
import { oneLine } from '../../../core/resources/plain-text.ts';
import type { ReplyFacts } from './reply-store.ts';

/** Characters of a subject; mail programs show fewer. */
const MAX_CHARACTERS = 250;

/**
 * The subject of the next mail of a case: the one that the message states, else that of the thread
 * with one `Re:` in front, else the title of the case.
 */
export function replySubject(facts: ReplyFacts): string {
  const { subject, thread_subject, answers } = facts;
  const base = threadSubject(facts);
  const isAnswer = answers !== null && (subject === null || withoutPrefixes(subject) === thread_subject);
  const isMarked = subject !== null && PREFIXES.test(subject.trim());
  return isAnswer || isMarked ? `Re: ${base}` : base;
}

/** The same without `Re:`, as the thread keeps it. */
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

/**
 * Returns a subject on one line and without what mail programs put in front of it when one answers
 * or forwards.
 */
export function withoutPrefixes(subject: string): string {
  return [...oneLine(subject).replace(PREFIXES, '').trim()].slice(0, MAX_CHARACTERS).join('');
}

/** `Re:`, and what it is called elsewhere, once or several times, with or without a number. */
const PREFIXES = /^(?:(?:re|aw|sv|antw|odp|vs|rif|res)(?:\[\d+\]|\(\d+\))?\s*[:：]\s*)+/iu;
