import { oneLine } from '@parley/protocol/schema/one-line.ts';
import { escapeHtml } from '../../../platform/plain-text.ts';

export interface ReplyContent {
  readonly body: string;
  /** The name of the account that sends the mail. */
  readonly accountName: string;
  /** Links that the message carries. */
  readonly links: readonly string[];
  /** Files that are not in the mail. */
  readonly files: readonly { readonly name: string; readonly url: string }[];
  /** ISO 8601: when the URLs of those files expire. */
  readonly filesUntil: string;
}

/**
 * Returns the text of a mail to a customer, plain and as HTML. It quotes nothing, because mail
 * programs show the thread (DECISIONS.md#a-reply-quotes-nothing).
 */
export function replyText(content: ReplyContent): { readonly text: string; readonly html: string } {
  const { body, links, files } = content;
  const name = oneLine(content.accountName);
  dayFormat ??= new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' });
  const day = `${dayFormat.format(new Date(content.filesUntil))} (UTC)`;
  const sentence =
    files.length === 1 ? 'The file is too large for a mail.' : 'The files are too large for a mail.';
  const note = `${sentence} The ${files.length === 1 ? 'link works' : 'links work'} until ${day}.`;
  const text = [
    body.trim(),
    links.join('\n'),
    ...(files.length === 0
      ? []
      : [[note, ...files.map(({ name, url }) => `${oneLine(name)}: ${url}`)].join('\n')]),
    // Mail programs fold the text after this line.
    `-- \n${name}`,
  ].filter((part) => part !== '');
  const html = [
    ...(body.trim() === '' ? [] : [`<p dir="auto" style="margin:0 0 1em">${markedUp(body.trim())}</p>`]),
    ...links.map((url) => `<p style="margin:0 0 1em">${anchor(url, url)}</p>`),
    ...(files.length === 0
      ? []
      : [
          `<p style="margin:0 0 1em">${escapeHtml(note)}<br>${files.map(({ name, url }) => anchor(url, oneLine(name))).join('<br>')}</p>`,
        ]),
    `<p style="margin:0;color:#666">${escapeHtml(name)}</p>`,
  ];
  return {
    text: `${text.join('\n\n')}\n`,
    html: `<!doctype html><html><head><meta charset="utf-8"></head><body style="font:15px/1.5 sans-serif;color:#222">${html.join('')}</body></html>`,
  };
}

/** Made on first use, because the tables of languages take a while to load. */
let dayFormat: Intl.DateTimeFormat | undefined;

/** Escapes the text, keeps its lines, and turns its web addresses into links. */
function markedUp(text: string): string {
  const pieces = text.split(WEB_ADDRESS).map((piece, index) => {
    if (index % 2 === 0) return escapeHtml(piece).replaceAll(/\r\n|[\n\r\u2028\u2029]/g, '<br>');
    const [, url = piece, rest = ''] = /^(.*?)([.,:;!?)\]}]*)$/.exec(piece) ?? [];
    return anchor(url, url) + escapeHtml(rest);
  });
  return pieces.join('');
}

/** One group around the whole pattern, so that `split` puts the matches at odd positions. */
const WEB_ADDRESS = /(https?:\/\/[^\s<>"'`]+)/i;

function anchor(url: string, text: string): string {
  return `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`;
}
