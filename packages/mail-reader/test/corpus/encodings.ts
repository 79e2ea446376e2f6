/** Character sets and encodings, right and wrong. */

import { base64, type CorpusMail, letter, quoted, utf8 } from './corpus-mail.ts';

export const ENCODINGS: readonly CorpusMail[] = [
  {
    name: 'words-in-headers',
    source: () =>
      letter(
        'words-in-headers',
        {
          From: '=?iso-8859-1?Q?J=FCrgen_M=FCller?= <Juergen@Customer.Example>',
          To: '"Harbor, Support" <support@harbor.example>, =?utf-8?B?w5Zsw6c=?= <oelc@other.example>',
          Cc: 'Team: one@other.example, Two <two@other.example>;',
          Subject: '=?utf-8?Q?R=C3=BCckfrage?=\n =?utf-8?Q?_zur_Bestellung?= 17',
        },
        'Hello.\n',
      ),
    parsed: {
      from: { address: 'juergen@customer.example', name: 'Jürgen Müller' },
      to: [
        { address: 'support@harbor.example', name: 'Harbor, Support' },
        { address: 'oelc@other.example', name: 'Ölç' },
      ],
      cc: [
        { address: 'one@other.example', name: null },
        { address: 'two@other.example', name: 'Two' },
      ],
      subject: 'Rückfrage zur Bestellung 17',
      visibleText: 'Hello.',
    },
  },
  {
    name: 'character-split-over-words',
    source: () =>
      letter(
        'character-split-over-words',
        { Subject: '=?utf-8?B?UHJlaXM6IDEwIOKC?=\n =?utf-8?B?rA==?=' },
        'Hello.\n',
      ),
    parsed: { subject: 'Preis: 10 €', visibleText: 'Hello.' },
  },
  {
    name: 'broken-words',
    source: () =>
      letter(
        'broken-words',
        { Subject: '=?utf-8?Q?with blanks in it?= =?nonsense?Q?=E4?= =?utf-8?X?abc?= =?utf-8?Q?open' },
        'Hello.\n',
      ),
    parsed: { subject: 'with blanks in itä =?utf-8?X?abc?= =?utf-8?Q?open', visibleText: 'Hello.' },
  },
  {
    name: 'raw-headers-in-latin-1',
    source: () =>
      letter(
        'raw-headers-in-latin-1',
        { Subject: 'Gr\xfc\xdfe', From: 'J\xf6rg <joerg@customer.example>' },
        'Hello.\n',
      ),
    parsed: {
      subject: 'Grüße',
      from: { address: 'joerg@customer.example', name: 'Jörg' },
      visibleText: 'Hello.',
    },
  },
  {
    name: 'raw-headers-in-utf-8',
    source: () => letter('raw-headers-in-utf-8', { Subject: utf8('Grüße 👋') }, 'Hello.\n'),
    parsed: { subject: 'Grüße 👋', visibleText: 'Hello.' },
  },
  {
    name: 'long-folded-headers',
    source: () =>
      letter(
        'long-folded-headers',
        {
          Subject: 'Order\n\t17',
          'In-Reply-To': '\n <our-mail@harbor.example>',
          References:
            '<one@customer.example>\n\t<two@customer.example>,<three@customer.example>\n  <our-mail@harbor.example>',
        },
        'Hello.\n',
      ),
    parsed: {
      subject: 'Order 17',
      inReplyTo: 'our-mail@harbor.example',
      references: [
        'one@customer.example',
        'two@customer.example',
        'three@customer.example',
        'our-mail@harbor.example',
      ],
      visibleText: 'Hello.',
    },
  },
  {
    name: 'ids-as-encoded-words',
    source: () =>
      letter(
        'ids-as-encoded-words',
        {
          'In-Reply-To': '=?utf-8?q?=3Cour-mail=40harbor=2E?=\n =?utf-8?q?example=3E?=',
          References: '<one@customer.example> =?utf-8?q?=3Cour-mail=40harbor=2E?=\n =?utf-8?q?example=3E?=',
        },
        'Hello.\n',
      ),
    parsed: {
      inReplyTo: 'our-mail@harbor.example',
      references: ['one@customer.example', 'our-mail@harbor.example'],
      visibleText: 'Hello.',
    },
  },
  {
    name: 'file-names-of-rfc-2231',
    source: () =>
      letter(
        'file-names-of-rfc-2231',
        { 'Content-Type': 'multipart/mixed; boundary=names' },
        `
--names

Names.
--names
Content-Type: application/pdf
Content-Disposition: attachment; filename*=utf-8'de'%C3%9Cbersicht.pdf; filename="Uebersicht.pdf"

1
--names
Content-Type: application/pdf
Content-Disposition: attachment;
	filename*0*=iso-8859-1''Rechnung%20;
	filename*1*=%FCber%20;
	filename*2="viel Geld.pdf"

2
--names
Content-Type: application/pdf; name="=?utf-8?Q?Pr=C3=BCfung.pdf?="
Content-Disposition: attachment

3
--names
Content-Type: application/pdf; name="C:\\Users\\cleo\\scan (1).pdf"

4
--names
Content-Type: application/pdf
Content-Disposition: attachment; filename=offer 17; final.pdf

5
--names--
`,
      ),
    parsed: {
      visibleText: 'Names.',
      attachments: [
        ['Übersicht.pdf', 'application/pdf', 1],
        ['Rechnung über viel Geld.pdf', 'application/pdf', 1],
        ['Prüfung.pdf', 'application/pdf', 1],
        ['scan (1).pdf', 'application/pdf', 1],
        ['offer 17', 'application/pdf', 1],
      ],
    },
  },
  {
    name: 'windows-1252-called-latin-1',
    source: () =>
      letter(
        'windows-1252-called-latin-1',
        { 'Content-Type': 'text/plain; charset=iso-8859-1' },
        '\x93Quoted\x94 \x96 10 \x80\n',
      ),
    parsed: { visibleText: '“Quoted” – 10 €' },
  },
  {
    name: 'utf-8-called-latin-1',
    source: () =>
      letter(
        'utf-8-called-latin-1',
        { 'Content-Type': 'text/plain; charset=iso-8859-1' },
        utf8('Größe: 10 €\n'),
      ),
    parsed: { visibleText: 'Größe: 10 €' },
  },
  {
    name: 'latin-1-called-utf-8',
    source: () =>
      letter('latin-1-called-utf-8', { 'Content-Type': 'text/plain; charset=utf-8' }, 'Gr\xf6\xdfe\n'),
    parsed: { visibleText: 'Größe' },
  },
  {
    name: 'utf-8-without-a-charset',
    source: () => letter('utf-8-without-a-charset', {}, utf8('Größe 👍\n')),
    parsed: { visibleText: 'Größe 👍' },
  },
  {
    name: 'latin-2',
    source: () =>
      letter(
        'latin-2',
        { 'Content-Type': 'text/plain; charset=ISO-8859-2' },
        'P\xf8\xedli\xb9 \xbelu\xbbou\xe8k\xfd\n',
      ),
    parsed: { visibleText: 'Příliš žluťoučký' },
  },
  {
    name: 'windows-1251',
    source: () =>
      letter(
        'windows-1251',
        { 'Content-Type': 'text/plain; charset="windows-1251"' },
        '\xcf\xf0\xe8\xe2\xe5\xf2\n',
      ),
    parsed: { visibleText: 'Привет' },
  },
  {
    name: 'koi8-r',
    source: () =>
      letter(
        'koi8-r',
        {
          Subject: '=?koi8-r?B?8NLJ18XU?=',
          'Content-Type': 'text/plain; charset=koi8-r',
          'Content-Transfer-Encoding': '8bit',
        },
        '\xf0\xd2\xc9\xd7\xc5\xd4\n',
      ),
    parsed: { subject: 'Привет', visibleText: 'Привет' },
  },
  {
    name: 'shift-jis',
    source: () =>
      letter(
        'shift-jis',
        { Subject: '=?Shift_JIS?B?ko2Vtg==?=', 'Content-Type': 'text/plain; charset=Shift_JIS' },
        '\x92\x8d\x95\xb6\n',
      ),
    parsed: { subject: '注文', visibleText: '注文' },
  },
  {
    name: 'iso-2022-jp',
    source: () =>
      letter(
        'iso-2022-jp',
        { Subject: '=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=', 'Content-Type': 'text/plain; charset=ISO-2022-JP' },
        '\x1b$BF|K\\\x1b(B\n',
      ),
    parsed: { subject: '日本', visibleText: '日本' },
  },
  {
    name: 'gb18030',
    source: () =>
      letter(
        'gb18030',
        {
          Subject: '=?gb2312?B?xOO6ww==?=',
          'Content-Type': 'text/plain; charset=gb18030',
          'Content-Transfer-Encoding': 'base64',
        },
        base64(Buffer.from([0xc4, 0xe3, 0xba, 0xc3, 0x0a])),
      ),
    parsed: { subject: '你好', visibleText: '你好' },
  },
  {
    name: 'utf-7',
    source: () =>
      letter('utf-7', { 'Content-Type': 'text/plain; charset=utf-7' }, 'Gr+APwA3w-e 1 +- 1 +ADw-b+AD4-\n'),
    parsed: { visibleText: 'Grüße 1 + 1 <b>' },
  },
  {
    name: 'unknown-charset',
    source: () =>
      letter('unknown-charset', { 'Content-Type': 'text/plain; charset="x-mac-klingon"' }, 'Gr\xfc\xdfe\n'),
    parsed: { visibleText: 'Grüße' },
  },
  {
    name: 'quoted-printable-in-its-usual-ways',
    source: () =>
      letter(
        'quoted-printable-in-its-usual-ways',
        { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Transfer-Encoding': 'Quoted-Printable' },
        `Soft =\nbreak, with blanks = \t\nafter it, lower case =c3=bc, raw ${utf8('ü')}, not encoded a=b and 100 =% =\n\nEnd ${quoted('€')}=`,
      ),
    parsed: {
      visibleText:
        'Soft break, with blanks after it, lower case ü, raw ü, not encoded a=b and 100 =% \nEnd €',
    },
  },
  {
    name: 'base64-in-its-usual-ways',
    source: () =>
      letter(
        'base64-in-its-usual-ways',
        { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Transfer-Encoding': 'BASE64' },
        `${base64('One, ')}\n\n ${base64('two')}!!\n${base64('; three')}${base64(' four').slice(0, -1)}`,
      ),
    parsed: { visibleText: 'One, two; three four' },
  },
  {
    name: 'html-that-declares-itself',
    source: () =>
      letter(
        'html-that-declares-itself',
        { 'Content-Type': 'text/html' },
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=koi8-r"></head><body>\xf0\xd2\xc9\xd7\xc5\xd4</body></html>',
      ),
    parsed: { visibleText: 'Привет', html: { has: [/Привет/] } },
  },
  {
    name: 'control-characters',
    source: () =>
      letter(
        'control-characters',
        { Subject: 'a\x00b\x07c', From: 'C\x00leo <cleo@customer.example>' },
        'zero\x00 bell\x07 escape\x1b[31m tab\there\x0cpage\n',
      ),
    parsed: {
      subject: 'abc',
      from: { address: 'cleo@customer.example', name: 'Cleo' },
      visibleText: 'zero bell escape[31m tab\there\npage',
    },
  },
  {
    name: 'halves-of-characters',
    source: () =>
      letter(
        'halves-of-characters',
        { Subject: '=?utf-16?B?PdgA?=', 'Content-Type': 'text/plain; charset=utf-16le' },
        'a\x00\x3d\xd8b\x00',
      ),
    parsed: { subject: '\ufffd', visibleText: 'a\ufffdb', isDamaged: true },
  },
  {
    name: 'flowed-with-del-sp',
    source: () =>
      letter(
        'flowed-with-del-sp',
        {
          'Content-Type': 'text/plain; charset=utf-8; format=flowed; delsp=yes',
          'Content-Transfer-Encoding': '8bit',
        },
        `${utf8('東京 \nから')}\n From the beginning\n>> quoted \n>> twice\n`,
      ),
    parsed: {
      visibleText: '東京から\nFrom the beginning\n>> quotedtwice',
    },
  },
];
