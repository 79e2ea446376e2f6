/**
 * Reports of servers that do not write RFC 3464. They are recognized by their words
 * (report-words.ts), which people may quote: the caller must know that a server wrote them.
 */

import { cleanAddress, type Header } from '../mime/header.ts';
import type { ReportedRecipient } from '../parsed-mail.ts';
import { REPORT_WORDS } from './report-words.ts';

/**
 * Returns the recipients that the words of a mail with this text for people report, one without an
 * address if they name none, or none if they report no delivery.
 */
export function wordedRecipients(header: Header, text: string): ReportedRecipient[] {
  const report = text.slice(0, returnedAt(text));
  const beginning = report.slice(0, OPENING_CHARACTERS);
  const opening = `${header.text('subject') ?? ''}\n${beginning}`;
  const folded = opening.toLowerCase();
  const isDelay = DELAYED.test(folded);
  const failed = header.mailboxes('x-failed-recipients');
  if (!isDelay && failed.length === 0 && !FAILED.test(folded)) return [];
  const action = isDelay ? 'delayed' : 'failed';
  const named = namedIn(report, AT_START) ?? namedIn(withoutOwn(header, beginning), ANYWHERE);
  const others = failed.length > 0 ? failed.map(({ address }) => address) : [null];
  const found = named ?? others.map((address) => ({ address, words: opening }));
  return found.map(({ address, words }) => ({ address, action, status: statusOf(words) }));
}

/** Returns whether a server names itself as the sender; anyone can take such a name. */
export function namesServer(header: Header): boolean {
  const from = header.raw('from') ?? '';
  return header.raw('x-failed-recipients') !== null || MAILER.test(from) || /^[^<]*<\s*>$/.test(from);
}

const MAILER = /\b(mailer-?daemon|mail-daemon|post_?master|microsoftexchange[0-9a-f]*)\b/i;

/** Returns the enhanced status in a text, such as `5.1.1`, else the class of its SMTP code. */
export function statusOf(text: string): string | null {
  const enhanced = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(text)?.[1];
  if (enhanced !== undefined) return enhanced;
  const code = /(?<!\d)([45])\d\d(?!\d)/.exec(text)?.[1];
  return code === undefined ? null : `${code}.0.0`;
}

interface Named {
  readonly address: string;
  words: string;
}

/**
 * Returns the addresses in a report, each with the words up to the next, or undefined without one.
 */
function namedIn(report: string, pattern: RegExp): Named[] | undefined {
  const found: Named[] = [];
  for (const line of report.split('\n').slice(0, MAX_LINES)) {
    const [, text = ''] = pattern.exec(line.slice(0, 1_000)) ?? [];
    // The path of a file is what a local address leads to.
    const address = text.startsWith('/') ? null : cleanAddress(text.replace(/\.$/, ''));
    const last = found.at(-1);
    const isNew = address !== null && !found.some((other) => other.address === address);
    if (isNew) found.push({ address, words: line.replace(text, '') });
    else if (last !== undefined) last.words += ` ${line.trim()}`;
    if (found.length === MAX_RECIPIENTS) break;
  }
  return found.length === 0 ? undefined : found;
}

/** Leaves out the lines about the sender, and the addresses between which the report travels. */
function withoutOwn(header: Header, report: string): string {
  const own = ['from', 'to', 'reply-to'].flatMap((name) => header.mailboxes(name));
  const lines = report.split('\n').filter((line) => !/\b(mail from|sender|contact)\b|^\s*from:/i.test(line));
  return own.reduce((text, { address }) => text.replaceAll(address, ''), lines.join('\n'));
}

/** Returns where the returned mail begins. */
function returnedAt(text: string): number {
  const at = text.search(RETURNED);
  return at === -1 ? text.length : at;
}

const OPENING_CHARACTERS = 3_000;
const MAX_LINES = 500;
const MAX_RECIPIENTS = 100;

/** An address at the beginning of a line, behind marks of lists. */
const AT_START = /^[\s*>-]*[<"]?([^\s<>:,;"]{1,250}@[^\s<>:,;"@]{1,250}?)[>"]?[:,]?(?:\s.*)?$/;
/** The first address of a line. */
const ANYWHERE = /(?:^|[\s<"(:;,])([^\s<>:,;"()]{1,250}@[^\s<>:,;"()@]{1,250}?)(?:[\s<>:,;")\]].*)?$/;

// The first two look at every mail, in lower case: comparing without regard to case by Unicode's
// rules takes 95 µs for 3,000 characters, this takes 3.
const FAILED = patternOf(REPORT_WORDS.failed, 'u');
const DELAYED = patternOf(REPORT_WORDS.delayed, 'u');
const RETURNED = patternOf(REPORT_WORDS.returned, 'imu');

function patternOf(words: readonly RegExp[], flags: string): RegExp {
  return new RegExp(words.map(({ source }) => source.replaceAll(' ', '\\s+')).join('|'), flags);
}
