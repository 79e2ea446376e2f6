/**
 * A text as it is shown: as elements of the console and the widget, as HTML of a mail, and as one
 * line of a list. All of them show the same.
 */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import t from 'tap';
import { replyText } from '../../../src/features/mail/outgoing/reply-text.ts';
import { addressesIn } from '../addresses.ts';
import { isPlainText, previewOf } from '../message-text.ts';
import { elementsAsHtml, escaped } from './elements.ts';

/** A text, and the HTML of its paragraph, in which `‹x›` is a link to x and `‹x→y›` one to y. */
type Case = readonly [written: string, shown: string];

const U = 'https://x.example/help';

/** Ends that may follow an address directly without being a part of it, by kind and script. */
const ENDS = [
  '. , ; : ! ? \' ) ] } * _ ~ | ... ?! .) ", ">',
  '。 ， 、 ； ： ！ ？ ． ） 】 」 』 》 〉 ｡ ､ ｣ … —— 〜 ～ ・',
  '» « “ ” ‘ ’ ‹ › „ – — • ¿ ¡ · → ™ € 🙂 ✅',
  '، ؛ ؟ ۔ ٪ । ॥ ። ፣ ፧ ՝ ։ ״ ׃ ၊ ။ ។ ៕ ༎ ๏ ᙮ ᠃',
  '\u3000 \u00a0 \u2009 \u200b \u200e \u202e \u2066 \ufeff',
].flatMap((ends) => ends.split(' '));

const LINKS: readonly Case[] = [
  ...ENDS.map((end): Case => [`${U}${end} x`, `‹${U}›${escaped(end)} x`]),
  ...ENDS.filter((end) => end > '\x7f' && !/[·・–—〜]/.test(end)).map(
    (end): Case => [`${U}${end}谢谢`, `‹${U}›${end}谢谢`],
  ),
  ['https://x.example/Rust_(x)', '‹https://x.example/Rust_(x)›'],
  ['(https://x.example/Rust_(x))', '(‹https://x.example/Rust_(x)›)'],
  ['(see https://x.example/a_(b)_(c).)', '(see ‹https://x.example/a_(b)_(c)›.)'],
  ['[https://x.example/a[1]]', '[‹https://x.example/a[1]›]'],
  ['{https://x.example/{id}/b}', '{‹https://x.example/{id}/b›}'],
  ['https://x.example/a(b', '‹https://x.example/a›(b'],
  ['https://x.example/a)b', '‹https://x.example/a›)b'],
  ['https://x.example/a(b]c', '‹https://x.example/a›(b]c'],
  ['https://x.example(see below)', '‹https://x.example›(see below)'],
  ['https://x.example/日本語_(曖昧)', '‹https://x.example/日本語_(曖昧)›'],
  ['https://x.example/ジョン・レノン。', '‹https://x.example/ジョン・レノン›。'],
  ['https://x.example/Col·legi', '‹https://x.example/Col·legi›'],
  ['https://x.example/Michelson–Morley', '‹https://x.example/Michelson–Morley›'],
  ['https://x.example/سلام/می‌خواهم؟', '‹https://x.example/سلام/می‌خواهم›؟'],
  ['https://x.example/हिन्दी।', '‹https://x.example/हिन्दी›।'],
  ['请看https://x.example/a谢谢', '请看‹https://x.example/a谢谢›'],
  ['请看https://x.example谢谢', '请看‹https://x.example›谢谢'],
  ['https://www.straße.example/ü', '‹https://www.straße.example/ü›'],
  ['https://例え.example/パス', '‹https://例え.example/パス›'],
  ['http://[::1]:8080/a', '‹http://[::1]:8080/a›'],
  ['HTTPS://X.example/A', '‹HTTPS://X.example/A›'],
  ['http://localhost:3000', '‹http://localhost:3000›'],
  ["https://x.example/it's", "‹https://x.example/it's›"],
  ['https://x.example/?a=1&b=2&amp;c#d;', '‹https://x.example/?a=1&b=2&amp;amp;c#d›;'],
  ['https://x.example/a\\b', '‹https://x.example/a›\\b'],
  ['`https://x.example`', '<code>https://x.example</code>'],
  ['https:// http://. https://?', 'https:// http://. https://?'],
  ['ftp://x.example javascript:alert(1) //x.example', 'ftp://x.example javascript:alert(1) //x.example'],
  ['git+https://x.example xhttps://x.example', 'git+https://x.example xhttps://x.example'],
  ['www.x.example/a, www.x www..', '‹www.x.example/a→http://www.x.example/a›, www.x www..'],
  ['请看www.x.example。', '请看‹www.x.example→http://www.x.example›。'],
  ['a.www.x.example @www.x.example', 'a.www.x.example @www.x.example'],
  [
    'a.b+c@x.example. (d@x.co.uk)',
    '‹a.b+c@x.example→mailto:a.b+c@x.example›. (‹d@x.co.uk→mailto:d@x.co.uk›)',
  ],
  ['联系a@x.example谢谢', '联系‹a@x.example→mailto:a@x.example›谢谢'],
  ['mailto:a@x.example', '‹mailto:a@x.example›'],
  ['@a@x.example a@b @c x/@d.ef a@x.example@y', '@a@x.example a@b @c x/@d.ef a@x.example@y'],
  ['**https://x.example/a**', '<strong>‹https://x.example/a›</strong>'],
  ['**https://x.example/a**、b', '<strong>‹https://x.example/a›</strong>、b'],
  ['_https://x.example/a_b_', '<em>‹https://x.example/a_b›</em>'],
  ['https://x.example/*a*_b_~c~', '‹https://x.example/*a*_b_~c›~'],
  ['<https://x.example/a。b> <c@x.example>', '‹https://x.example/a。b› ‹c@x.example→mailto:c@x.example›'],
  ['<a href="https://x.example">', '&lt;a href=&quot;https://x.example&quot;&gt;'],
];

const MARKDOWN: readonly Case[] = [
  ['[policy](https://x.example/a_(b))', '‹policy→https://x.example/a_(b)›'],
  ['[a](<https://x.example/b)> "T")', '‹a→https://x.example/b)›'],
  ['[**a** `b`](https://x.example)', '‹<strong>a</strong> <code>b</code>→https://x.example›'],
  ['[a [b] c](https://x.example)', '‹a [b] c→https://x.example›'],
  ['[https://y.example](https://x.example)', '‹https://y.example→https://x.example›'],
  ['[a [b](https://x.example)](https://y.example)', '[a ‹b→https://x.example›](‹https://y.example›)'],
  ['![a](https://x.example/b.png)', '‹a→https://x.example/b.png›'],
  ['[](https://x.example)', '[](‹https://x.example›)'],
  ['[ ](https://x.example)', '[ ](‹https://x.example›)'],
  ['![](https://x.example)', '![](‹https://x.example›)'],
  ['[a]()', '[a]()'],
  ['[a](javascript:b)', '[a](javascript:b)'],
  ['[a](data:text/html,b)', '[a](data:text/html,b)'],
  ['[a](/b) [c](#d) [e](f.g)', '[a](/b) [c](#d) [e](f.g)'],
  ['[a](https://x.example', '[a](‹https://x.example›'],
  ['[a] (https://x.example)', '[a] (‹https://x.example›)'],
  ['[draft]: https://example.com/q3', '[draft]: ‹https://example.com/q3›'],
  ['[x]: y', '[x]: y'],
  ['[x]: <https://z.example> "Title"', '[x]: ‹https://z.example› &quot;Title&quot;'],
  ['[x]: **y**', '[x]: <strong>y</strong>'],
  ['[^1]: note', '[^1]: note'],
  [
    'See [1].\n\n[1]: https://x.example',
    '<p>See ‹[1]→https://x.example›.</p><p>[1]: ‹https://x.example›</p>',
  ],
  ['See [a][B].\n[b]: https://x.example', 'See ‹a→https://x.example›.<br>[b]: ‹https://x.example›'],
  ['See [1] and [a][2].', 'See [1] and [a][2].'],
  ['[constructor] [a][constructor]', '[constructor] [a][constructor]'],
  ['#', '#'],
  ['# ', '#'],
  ['#hash', '#hash'],
  ['>', '&gt;'],
  ['-', '-'],
  ['1.', '1.'],
  ['```', '```'],
  ['**', '**'],
  ['- #\n- a', '<ul><li><p>#</p></li><li>a</li></ul>'],
  ['&amp; &#65; &lt;', '&amp;amp; &amp;#65; &amp;lt;'],
  ['<b>*x*</b>', '&lt;b&gt;<em>x</em>&lt;/b&gt;'],
  ['<a title="*x*">*', '&lt;a title=&quot;*x*&quot;&gt;*'],
  ['a\n<div>**x**</div>\nb', 'a<br>&lt;div&gt;<strong>x</strong>&lt;/div&gt;<br>b'],
  ['<pre>\n*x*\n\n*y*</pre>', '&lt;pre&gt;<br>*x*<br><br>*y*&lt;/pre&gt;'],
  ['<pre> *x*', '&lt;pre&gt; <em>x</em>'],
  ['</code> *x* </code>', '&lt;/code&gt; <em>x</em> &lt;/code&gt;'],
  ['a `<code>` *b*', 'a <code>&lt;code&gt;</code> <em>b</em>'],
  ['**「x」**です', '<strong>「x」</strong>です'],
  ['これは**「x」**です', 'これは<strong>「x」</strong>です'],
  ['**한국어(영어)**는', '<strong>한국어(영어)</strong>는'],
  ['이것은 **“중요”**합니다', '이것은 <strong>“중요”</strong>합니다'],
  ['文字**“引用”**文字', '文字<strong>“引用”</strong>文字'],
  ['中文**强调。**中文', '中文<strong>强调。</strong>中文'],
  ['中文**(强调)**中文*、x*y', '中文<strong>(强调)</strong>中文<em>、x</em>y'],
  ['**ไทย (อังกฤษ)**ครับ', '<strong>ไทย (อังกฤษ)</strong>ครับ'],
  ['**မြန်မာ (x)**ပါ', '<strong>မြန်မာ (x)</strong>ပါ'],
  ['~~「旧」~~新', '<del>「旧」</del>新'],
  ['*「x」*の**`y`**を', '<em>「x」</em>の<strong><code>y</code></strong>を'],
  ['𠮷**「x」**𠮷', '𠮷<strong>「x」</strong>𠮷'],
  ['报告_最终_版.pdf', '报告_最终_版.pdf'],
  ['**a**b c**d** e**f**g', '<strong>a</strong>b c<strong>d</strong> e<strong>f</strong>g'],
  ['a**(b)**c', 'a**(b)**c'],
  ['** a** b **', '** a** b **'],
  ['***a** b*', '<em><strong>a</strong> b</em>'],
  ['*a **b** c*', '<em>a <strong>b</strong> c</em>'],
  ['snake_case_name __init__', 'snake_case_name <strong>init</strong>'],
  ['2 * 3 * 4, 5 ** 6', '2 * 3 * 4, 5 ** 6'],
  ['~~a~~ ~b~ ~~~', '<del>a</del> <del>b</del> ~~~'],
  ['\\*a\\* \\[b](https://x.example) \\@c \\d', '*a* [b](‹https://x.example›) @c \\d'],
  ['`a`` b` ``c ` d``', '<code>a`` b</code> <code>c ` d</code>'],
  ['`a\\` *b*', '<code>a\\</code> <em>b</em>'],
  ['  a\n    b  c', '  a<br>    b  c'],
  ['a\r\nb\u2028c', 'a<br>b<br>c'],
  ['a\\\nb', 'a<br>b'],
  ['> q\n> r\nanswer', '<blockquote><p>q<br>r</p></blockquote><p>answer</p>'],
  [
    '> > q\n\n> r',
    '<blockquote><blockquote><p>q</p></blockquote></blockquote><blockquote><p>r</p></blockquote>',
  ],
  ['- a\n  - b\n- c', '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>'],
  ['2. a\n3. b', '<ol><li value="2">a</li><li value="3">b</li></ol>'],
  ['2) a\n4) b\n3) c', '<ol><li value="2">a</li><li value="4">b</li><li value="3">c</li></ol>'],
  ['1. a\n1. b', '<ol><li value="1">a</li><li value="2">b</li></ol>'],
  ['- a\n\n- b', '<ul><li><p>a</p></li><li><p>b</p></li></ul>'],
  ['a\n- b', '<p>a</p><ul><li>b</li></ul>'],
  ['## a *b*\nc', '<p>a <em>b</em></p><p>c</p>'],
  ['a\n---\nb', '<p>a</p><hr><p>b</p>'],
  ['Best\n-- \nAda', 'Best<br>-- <br>Ada'],
  ['a\n===', 'a<br>==='],
  ['5*3*2 = 30, 2**3**2, ٥*٣*٢', '5*3*2 = 30, 2**3**2, ٥*٣*٢'],
  ['*5*3 **1**a', '*5*3 <strong>1</strong>a'],
  ['```js\na  *b*\n```', '<pre><code>a  *b*</code></pre>'],
  ['``` a b\nc\n```', '<pre><code>a b\nc</code></pre>'],
  ['    a\n      b', '<pre><code>a\n  b</code></pre>'],
  [
    '|a|b|\n|-|-|\n|**1**|',
    '<table><tr><th>a</th><th>b</th></tr><tr><td><strong>1</strong></td><td></td></tr></table>',
  ],
  ['|a|b|\n|-|-|\n|1|2|3|', '|a|b|<br>|-|-|<br>|1|2|3|'],
];

/** Texts of mails, which are shown as written. */
const PLAIN: readonly Case[] = [
  ['5*3*2 = 30', '5*3*2 = 30'],
  ['**a** _b_ `c` ~~d~~', '**a** _b_ `c` ~~d~~'],
  ['# a\n- b\n> c\n1. d', '# a<br>- b<br>&gt; c<br>1. d'],
  ['a\n\n\n    b  c\n---\nd', 'a<br><br><br>    b  c<br>---<br>d'],
  ['[a](https://x.example/b_(c))', '[a](‹https://x.example/b_(c)›)'],
  ['[x]: https://x.example。y', '[x]: ‹https://x.example›。y'],
  ['\\*a\\* <b> &amp;', '\\*a\\* &lt;b&gt; &amp;amp;'],
  ['| a | b |\n|---|---|', '| a | b |<br>|---|---|'],
  ['```\na\n```', '```<br>a<br>```'],
  ['<https://x.example> a@x.example', '&lt;‹https://x.example›&gt; ‹a@x.example→mailto:a@x.example›'],
  ...LINKS.slice(0, 20).filter(([written]) => !/[*_~]/.test(written)),
];

const UNESCAPED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

const page = await elementsOfPage();

t.test('a text is shown alike by the console, the widget, mail and lists', async (t) => {
  const cases = [...LINKS, ...MARKDOWN];
  const expected = cases.map(([written, shown]) => [written, htmlOf(shown)]);
  const shownBy = (show: (text: string) => string) => cases.map(([written]) => [written, show(written)]);
  t.strictSame(
    shownBy((text) => page(text, isPlainText({ body: text }))),
    expected,
  );
  t.strictSame(shownBy(mailed), expected);
  // A text without letters is shown in a list as it was written.
  const inWords = ([written]: readonly string[]) => /\p{L}/u.test(written!);
  t.strictSame(
    shownBy((body) => previewOf({ kind: 'chat', body })).filter(inWords),
    expected.filter(inWords).map(([written = '', html = '']) => [written, lineOf(html)]),
  );
});

t.test('an address ends before punctuation and symbols of any script', async (t) => {
  const wrong: string[] = [];
  for (let code = 0x80; code < 0x20000; code++) {
    const end = String.fromCodePoint(code);
    if (!/[\p{P}\p{S}\p{Z}\p{Cc}]/u.test(end)) continue;
    const [found] = addressesIn(`${U}${end} x`);
    if (found?.href !== U) wrong.push(code.toString(16));
  }
  t.strictSame(wrong, []);
});

t.test('a mail that came in is shown as it was written', async (t) => {
  const mails = PLAIN.map(([body, shown]) => ({ body, shown, message: { kind: 'email', body } }));
  t.strictSame(
    mails.map(({ body, message }) => [body, page(body, isPlainText(message)), previewOf(message)]),
    mails.map(({ body, shown }) => [body, htmlOf(shown), body.replace(/\s+/g, ' ').trim()]),
  );
});

/** Returns the HTML that the second part of a case stands for. */
function htmlOf(shown: string): string {
  const html = shown
    .replace(/‹([^›→]*)›/g, '<a href="$1">$1</a>')
    .replace(/‹([^›→]*)→([^›]*)›/g, '<a href="$2">$1</a>')
    .replace(/&(?!amp;|lt;|gt;|quot;|#39;)/g, '&amp;')
    .replaceAll("'", '&#39;');
  return /^<(p|ul|ol|blockquote|pre|table)\b/.test(html) ? html : `<p>${html}</p>`;
}

function lineOf(html: string): string {
  const words = html.replace(/<br>|<hr>|\n|<\/(p|li|th|td)>|<(ul|ol)\b[^>]*>/g, ' ').replace(/<[^>]*>/g, '');
  const text = words.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => UNESCAPED[name]!);
  return text.replace(/\s+/g, ' ').trim();
}

/** Returns the HTML of a reply by mail, without looks and without the name below it. */
function mailed(body: string): string {
  const { html } = replyText({ body, accountName: 'Harbor', links: [], files: [], filesUntil: '2027-01-01' });
  const [, words = ''] = /<body[^>]*>([\s\S]*)<p style="margin:0;color:#666">Harbor/.exec(html) ?? [];
  return words.replace(/ (style|dir|title)="[^"]*"/g, '').replace(/<\/?span>/g, '');
}

/** Returns a function that draws a text as the pages do. */
async function elementsOfPage(): Promise<(text: string, isPlain: boolean) => string> {
  const ui = join(import.meta.dirname, '../../ui');
  const build = await rolldown({
    // The components speak once a page has given them its words.
    input: [join(ui, 'test/english.ts'), join(ui, 'text/markdown.tsx')],
    platform: 'browser',
    tsconfig: false,
    external: /^preact/,
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  });
  await build.write({ dir: t.testdirName, entryFileNames: '[name].mjs', format: 'es' });
  await build.close();
  const built = (name: string) => import(pathToFileURL(join(t.testdirName, `${name}.mjs`)).href);
  await built('english');
  const { Markdown } = await built('markdown');
  return (text, isPlain) => elementsAsHtml(Markdown, { text, isPlain });
}
