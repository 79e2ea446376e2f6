import { readMarkdown } from '@parley/markdown/read-markdown.ts';
import { oneLine } from '@parley/protocol/schema/one-line.ts';
import { escapeHtml } from '../../../platform/plain-text.ts';
import { anchor, htmlOf } from './reply-html.ts';
import { plainOf } from './reply-plain.ts';

export interface ReplyContent {
  /** Markdown. */
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
  const { links, files } = content;
  // The blanks before the first word belong to its line.
  const body = readMarkdown(content.body.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd());
  const name = oneLine(content.accountName);
  dayFormat ??= new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' });
  const day = `${dayFormat.format(new Date(content.filesUntil))} (UTC)`;
  const sentence =
    files.length === 1 ? 'The file is too large for a mail.' : 'The files are too large for a mail.';
  const note = `${sentence} The ${files.length === 1 ? 'link works' : 'links work'} until ${day}.`;
  const text = [
    plainOf(body),
    links.join('\n'),
    ...(files.length === 0
      ? []
      : [[note, ...files.map(({ name, url }) => `${oneLine(name)}: ${url}`)].join('\n')]),
    // Mail programs fold the text after this line.
    `-- \n${name}`,
  ].filter((part) => part !== '');
  const html = [
    htmlOf(body),
    ...links.map((url) => `<p style="margin:0 0 1em">${anchor(url, escapeHtml(url))}</p>`),
    ...(files.length === 0
      ? []
      : [
          `<p style="margin:0 0 1em">${escapeHtml(note)}<br>${files.map(({ name, url }) => anchor(url, escapeHtml(oneLine(name)))).join('<br>')}</p>`,
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
