import { oneLine } from '@parley/protocol/schema/one-line.ts';
import type { MailText } from '../../../core/features/mails.ts';
import type { NotificationRow } from '../../../core/resources/notification.ts';
import { escapeHtml } from '../../../platform/plain-text.ts';

export interface DigestContent {
  /** Unseen notifications, newest first; at least one. */
  readonly notifications: readonly Pick<NotificationRow, 'title' | 'body' | 'created_at'>[];
  /** The number of further notifications. */
  readonly more: number;
  /** IANA timezone in which times are shown. */
  readonly timezone: string;
}

/** The number of characters of a subject that mail clients show. */
const MAX_SUBJECT = 120;

export function digestMail({ notifications, more, timezone }: DigestContent): MailText {
  const count = notifications.length + more;
  const subject =
    count === 1 ? oneLine(notifications[0]!.title) : `${count} notifications that you have not seen`;
  const clock = new Intl.DateTimeFormat('en', {
    timeZone: timezone,
    hourCycle: 'h23',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  });
  const items = notifications.map(({ title, body, created_at }) => ({
    title: oneLine(title),
    body: body === null ? '' : body.trim(),
    at: clock.format(new Date(created_at)),
  }));
  const rest = more === 0 ? '' : `And ${more} more.`;
  const text = [
    ...items.map(({ title, body, at }) => [`${title} (${at})`, ...indented(body)].join('\n')),
    ...(rest === '' ? [] : [rest]),
    REASON,
  ];
  const html = [
    ...items.map(
      ({ title, body, at }) =>
        `<p style="white-space:pre-wrap"><strong>${escapeHtml(title)}</strong> <small>${escapeHtml(at)}</small>${body === '' ? '' : `<br>${escapeHtml(body).replaceAll('\n', '<br>')}`}</p>`,
    ),
    ...(rest === '' ? [] : [`<p>${rest}</p>`]),
    `<p><small>${REASON}</small></p>`,
  ];
  return {
    subject: shortened(subject),
    text: `${text.join('\n\n')}\n`,
    html: `<!doctype html><html lang="en"><meta charset="utf-8"><body>${html.join('')}</body></html>`,
  };
}

const REASON =
  'You receive this because your notification settings ask for a digest of what you have not seen.';

function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= MAX_SUBJECT ? text : `${characters.slice(0, MAX_SUBJECT - 1).join('')}…`;
}

function indented(body: string): string[] {
  return body === '' ? [] : body.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `  ${line}`);
}
