/**
 * Reports of servers that do not write RFC 3464: qmail, Exim, old Postfix, Exchange and Gmail. They
 * are recognized by their words.
 */

import { cleanAddress, type Header } from '../mime/header.ts';
import type { ReportedRecipient } from '../parsed-mail.ts';

/** Returns no recipients if the mail, which has this text for people, reports no delivery. */
export function oldRecipients(header: Header, text: string): ReportedRecipient[] {
  if (!isFromServer(header)) return [];
  const opening = text.slice(0, OPENING_CHARACTERS);
  const isDelay = DELAYED.test(opening) || DELAYED.test(header.text('subject') ?? '');
  if (!isDelay && !FAILED.test(opening) && header.raw('x-failed-recipients') === null) return [];
  const action = isDelay ? 'delayed' : 'failed';
  const report = text.slice(0, returnedAt(text));
  return addressesOf(header, report).map(({ address, words }) => ({
    address,
    action,
    status: statusOf(words),
  }));
}

/** Returns whether a server wrote it: a person may quote the words of a bounce. */
function isFromServer(header: Header): boolean {
  if (/^<\s*>$/.test(header.raw('return-path') ?? '') || header.raw('x-failed-recipients') !== null)
    return true;
  return /\b(mailer-daemon|mail-daemon|postmaster|microsoftexchange[0-9a-f]*)\b/i.test(
    header.raw('from') ?? '',
  );
}

/** Returns the enhanced status in a text, such as `5.1.1`, else the class of its SMTP code. */
export function statusOf(text: string): string | null {
  const enhanced = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(text)?.[1];
  if (enhanced !== undefined) return enhanced;
  const code = /(?<!\d)([45])\d\d(?!\d)/.exec(text)?.[1];
  return code === undefined ? null : `${code}.0.0`;
}

/** Returns the addresses at the beginning of lines, each with the words up to the next. */
function addressesOf(header: Header, report: string): { readonly address: string; readonly words: string }[] {
  const found: { address: string; words: string }[] = [];
  for (const line of report.split('\n').slice(0, MAX_LINES)) {
    const [, text = '', rest = ''] =
      /^\s*(?:\*\s*)?<?([^\s<>:,;"]{1,250}@[^\s<>:,;"]{1,250}?)>?[:,]?(?:\s+(.*))?$/.exec(
        line.slice(0, 1_000),
      ) ?? [];
    const address = cleanAddress(text.replace(/\.$/, ''));
    const last = found.at(-1);
    const isNew = address !== null && !found.some((other) => other.address === address);
    if (isNew) found.push({ address, words: rest });
    else if (last !== undefined) last.words += ` ${line.trim()}`;
    if (found.length === MAX_RECIPIENTS) break;
  }
  if (found.length > 0) return found;
  return header
    .mailboxes('x-failed-recipients')
    .map(({ address }) => ({ address, words: report.slice(0, OPENING_CHARACTERS) }));
}

/** Returns where the returned mail begins. */
function returnedAt(text: string): number {
  const at = text.search(RETURNED);
  return at === -1 ? text.length : at;
}

const OPENING_CHARACTERS = 3_000;
const MAX_LINES = 500;
const MAX_RECIPIENTS = 100;

const FAILED = new RegExp(
  [
    'This is the qmail-send program',
    'This message was created automatically by mail delivery software',
    'This is the (Postfix|mail system) (program )?at host',
    'Delivery to the following recipients? (has )?failed',
    'Your message did not reach some or all of the intended recipients',
    'Delivery has failed to these recipients',
    "(Your message|Message) (wasn't|could not be|was not|couldn't be) delivered",
    'could not be delivered to',
    'Undelivered Mail Returned to Sender',
    'The following addresses had permanent fatal errors',
    'Die Nachricht konnte nicht zugestellt werden',
    'Ihre Nachricht hat einige oder alle Empfänger nicht erreicht',
  ].join('|'),
  'i',
);
const DELAYED =
  /\b(delivery (is |has been |status notification \(|temporarily )?(delayed?|suspended)|has not (yet )?been delivered|will (continue to )?(try|retry|be retried)|delayed mail)\b/i;
const RETURNED = new RegExp(
  [
    '^[- ]*Below this line is a copy of the message',
    '^[- ]*This is a copy of the message',
    '^-+\\s*Original message\\s*-+',
    '^-+\\s*The header of the original message',
    '^-+\\s*Undelivered Message',
    '^-+\\s*Message header follows',
    '^Original message headers:',
    '^[> \\t]*(Received|Return-Path): ',
  ].join('|'),
  'im',
);
