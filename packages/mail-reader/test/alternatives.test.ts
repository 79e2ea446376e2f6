/** Which form of a mail its text is read from, where it has two. */

import t from 'tap';
import { letter } from './corpus/corpus-mail.ts';
import { readInPieces } from './read-in-pieces.ts';

/**
 * What the case is, the plain text and the HTML of a mail (null if it has no such part), its text.
 */
type Case = readonly [what: string, plain: string | null, html: string | null, text: string];

const TABLE =
  '<p>Hello,</p><table><tr><td>Chair</td><td>49.00</td></tr><tr><td>Desk</td><td>120.00</td></tr></table>';

const OF_HTML: readonly Case[] = [
  [
    'a stub',
    'Please view this mail in an HTML client.',
    '<p>Your code is 884411.</p>',
    'Your code is 884411.',
  ],
  ['a stub in German', 'Diese E-Mail braucht HTML.', '<p>Ihr Code: 884411</p>', 'Ihr Code: 884411'],
  ['a stub in Japanese', 'HTMLメールです。', '<p>確認コードは884411です。</p>', '確認コードは884411です。'],
  ['a longer stub', `${'This mail has no plain text. '.repeat(20)}`, '<b>884411</b>', '884411'],
  ['a greeting without its table', 'Hello,', TABLE, 'Hello,\n\nChair 49.00\nDesk 120.00'],
  ['a table without its last column', 'Hello,\nChair\nDesk', TABLE, 'Hello,\n\nChair 49.00\nDesk 120.00'],
  ['an excerpt', 'Your order is on', '<p>Your order is on its way.</p>', 'Your order is on its way.'],
  ['one number less', 'Your code\n', '<p>Your code 884411</p>', 'Your code 884411'],
  [
    'source',
    '<p>Your code is <b>884411</b>.</p>',
    '<p>Your code is <b>884411</b>.</p>',
    'Your code is 884411.',
  ],
  [
    'source alone',
    '<!DOCTYPE html>\n<html><body><p>Your code is</p><p>884411.</p></body></html>\n',
    null,
    'Your code is\n\n884411.',
  ],
  ['source of a piece alone', '<div class="x">Your code<br>884411</div>', null, 'Your code\n884411'],
  ['blank text', ' \n\t\n', '<p>Hello.</p>', 'Hello.'],
  ['HTML without a tag', null, 'Dear team,\n\nA &amp; B\n  are here.\n', 'Dear team,\n\nA & B\n  are here.'],
];

const OF_PLAIN: readonly Case[] = [
  [
    'the same words',
    'Hello,\n\nI *really* need\nit.',
    '<p>Hello,</p><p>I <b>really</b> need it.</p>',
    'Hello,\n\nI *really* need\nit.',
  ],
  [
    'links',
    'See our shop <https://x.example/a?b=1> or\nask cleo <mailto:cleo@x.example>.',
    '<p>See <a href="https://x.example/a?b=1">our shop</a> or ask <a href="mailto:cleo@x.example">cleo</a>.</p>',
    'See our shop <https://x.example/a?b=1> or\nask cleo <mailto:cleo@x.example>.',
  ],
  [
    'links below the text',
    'See our shop[1] now.\n\n1. https://x.example/',
    '<p>See <a href="https://x.example/">our shop</a> now.</p>',
    'See our shop[1] now.\n\n1. https://x.example/',
  ],
  [
    'headings and lists',
    'ORDERS\n\n 1. Chair\n 2. Desk',
    '<h1>Orders</h1><ol><li>Chair</li><li>Desk</li></ol>',
    'ORDERS\n\n 1. Chair\n 2. Desk',
  ],
  [
    'a table that is there',
    'Hello,\n\nChair\t49.00\nDesk\t120.00',
    TABLE,
    'Hello,\n\nChair\t49.00\nDesk\t120.00',
  ],
  [
    'characters without blanks, wrapped',
    '荷物はいつ\n届きますか。',
    '<p>荷物はいつ届きますか。</p>',
    '荷物はいつ\n届きますか。',
  ],
  ['more in the plain text', 'Hello. The rest is here.', '<p>Hello.</p>', 'Hello. The rest is here.'],
  ['HTML of a picture', 'Hello.', '<img src="https://x.example/a.png" alt="">', 'Hello.'],
  [
    'a picture of the mail',
    'Hello. [cid:image001.png@01DA]\nCleo',
    '<p>Hello. <img src="cid:image001.png@01DA"></p><p>Cleo</p>',
    'Hello. [cid:image001.png@01DA]\nCleo',
  ],
  ['text that is not shown', 'Hello.', '<div style="display:none">Preview</div><p>Hello.</p>', 'Hello.'],
  [
    'a person who writes about HTML',
    '<p>Is this right?</p>',
    '<p>&lt;p&gt;Is this right?&lt;/p&gt;</p>',
    '<p>Is this right?</p>',
  ],
  ['a question about HTML alone', 'Why is <p>this</p> shown?', null, 'Why is <p>this</p> shown?'],
  ['a question that ends with HTML', 'Why?\n<div>this</div>', null, 'Why?\n<div>this</div>'],
];

async function textOf(plain: string | null, html: string | null): Promise<{ text: string; isHtml: boolean }> {
  const parts = [
    ...(plain === null ? [] : [`Content-Type: text/plain; charset=utf-8\n\n${plain}`]),
    ...(html === null ? [] : [`Content-Type: text/html; charset=utf-8\n\n${html}`]),
  ];
  const body = `--b\n${parts.join('\n--b\n')}\n--b--\n`;
  const source = letter(
    'x',
    { 'Content-Type': 'multipart/alternative; boundary=b' },
    Buffer.from(body).toString('latin1'),
  );
  const { mail } = await readInPieces(source, 65_536);
  return { text: mail.text, isHtml: mail.html !== null };
}

t.test('the text is that of the HTML where the plain text does not say all of it', async (t) => {
  for (const [what, plain, html, text] of OF_HTML)
    t.strictSame(await textOf(plain, html), { text, isHtml: true }, what);
});

t.test('the text is the plain text where it says all that the HTML does', async (t) => {
  for (const [what, plain, html, text] of OF_PLAIN)
    t.strictSame(await textOf(plain, html), { text, isHtml: html !== null }, what);
});
