/** The text of a reply by mail, for programs with and without HTML. */

import t from 'tap';
import { replyText } from '../../src/features/mail/outgoing/reply-text.ts';

function written(body: string, more: Partial<Parameters<typeof replyText>[0]> = {}) {
  const { text, html } = replyText({
    body,
    accountName: 'Harbor\r\nBcc: x@y.example',
    links: [],
    files: [],
    filesUntil: '2027-01-31T12:00:00Z',
    ...more,
  });
  return { text: text.slice(0, text.indexOf('-- \n')).replace(/\n\n$/, ''), html };
}

const TEXTS: readonly (readonly [body: string, text: string])[] = [
  ['**Refund**: [policy](https://x.example)', 'Refund: policy (https://x.example)'],
  ['- one\n- **two**\n  1. `a`\n  2. b', '- one\n- two\n  1. a\n  2. b'],
  ['9. a\n   b\n10. c', '9. a\n   b\n10. c'],
  ['2. a\n4. b', '2. a\n4. b'],
  ['Best\n--\nAda', 'Best\n--\nAda'],
  ['- a\n\n  b\n\n- c', '- a\n\n  b\n\n- c'],
  ['- [ ] a\n- [x] b', '- [ ] a\n- [x] b'],
  ['# Title\ntext', 'Title\ntext'],
  ['> a\n>\n> > b\n\nc', '> a\n>\n> > b\n\nc'],
  ['> - a\n>   b', '> - a\n>   b'],
  ['```sh\nnpm  start\n\n  x\n```', 'npm  start\n\n  x'],
  ['    indented\n      code', 'indented\n  code'],
  ['a\n    b  c', 'a\n    b  c'],
  ['\n \n  first\nsecond\n \n', '  first\nsecond'],
  ['a\n\n\n\nb', 'a\n\n\n\nb'],
  ['a\n- b\n\n\n- c\n\n\nd', 'a\n- b\n\n\n- c\n\n\nd'],
  ['~~100~~ 90 €', '~~100~~ 90 €'],
  [
    '[a@x.example](mailto:a@x.example) <https://x.example> www.x.example',
    'a@x.example https://x.example www.x.example',
  ],
  [
    '[a](https://x.example "b c") ![d](https://x.example/e.png)',
    'a (https://x.example, b c) d (https://x.example/e.png)',
  ],
  ['| a | b |\n|---|---|\n| **1** | 2 |', 'a | b\n1 | 2'],
  ['a\n\n***\n\nb', 'a\n\n---\n\nb'],
  ['\\*a\\* & <b> "c"', '*a* & <b> "c"'],
  ['5 * 3, snake_case, [x]: y, #', '5 * 3, snake_case, [x]: y, #'],
  ['', ''],
];

t.test('the plain text has the words without marks, and the blanks and lines as written', async (t) => {
  for (const [body, text] of TEXTS) t.equal(written(body).text, text, JSON.stringify(body));
});

t.test('the HTML keeps blanks and empty lines', async (t) => {
  const { html } = written('  a\n    b  c\n\n\n\nd\n- e  f');
  t.match(html, /> {2}a<br> {4}b {2}c<\/p><br><br><p/);
  for (const words of ['  a<br>', 'd</p>', 'e  f</span>']) {
    const [tag = ''] = html.slice(0, html.indexOf(words)).match(/<[^<]*$/) ?? [];
    t.match(tag, /white-space:pre-wrap/, words);
  }
});

t.test('no text becomes markup of its own', async (t) => {
  const hostile = [
    '<script>alert(1)</script>',
    '[a](https://x.example/"><script>alert(1)</script>)',
    '[a](<https://x.example/"onclick="b> "c\\"onclick=\\"d")',
    'https://x.example/"onclick="a',
    '[x" onclick="a]: https://x.example',
    '[a](javascript:alert(1)) [b](JAVA\tSCRIPT:c) [d](data:text/html,e) [f](vbscript:g)',
    '```x" onclick="a\n</code></pre><img src=x onerror=a>\n```',
    '| <img src=x onerror=a> |\n|-|\n| </td></table><script> |',
  ];
  for (const body of hostile) {
    const { html } = written(body, {
      links: ['https://x.example/"a'],
      files: [{ name: '<b>', url: 'https://x.example/?a&b' }],
    });
    const tags = html.match(/<[^>]*>/g) ?? [];
    for (const tag of tags)
      t.notMatch(tag, /^<(script|img)|\son\w+=|href="(?!https:|mailto:)/i, `${body}: ${tag}`);
    t.match(html, 'href="https://x.example/?a&amp;b">&lt;b&gt;</a>');
  }
});
