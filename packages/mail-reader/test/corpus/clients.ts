/** What the usual clients send. */

import { base64, type CorpusMail, letter, quoted, utf8 } from './corpus-mail.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const CLIENTS: readonly CorpusMail[] = [
  {
    name: 'plain',
    source: () => letter('plain', {}, 'Where is my order?\n'),
    parsed: {
      rfcId: 'plain@customer.example',
      visibleText: 'Where is my order?',
      headers: { subject: 'Order 17' },
    },
  },
  {
    name: 'gmail-reply',
    source: () =>
      letter(
        'gmail-reply',
        {
          'In-Reply-To': '<our-mail@harbor.example>',
          References: '<first@customer.example>\n <our-mail@harbor.example>',
          Subject: 'Re: Order 17',
          'Content-Type': 'multipart/alternative; boundary="0000000000"',
        },
        `
--0000000000
Content-Type: text/plain; charset="UTF-8"
Content-Transfer-Encoding: quoted-printable

Tomorrow is fine.

On Thu, Nov 19, 2026 at 4:02${quoted('\u202f')}PM Customer Service <support@harbor.example>
wrote:

> When should we deliver?
>
> Customer Service
>
--0000000000
Content-Type: text/html; charset="UTF-8"

<div dir="ltr">Tomorrow is fine.</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">On Thu, Nov 19, 2026 at 4:02 PM Customer Service &lt;<a href="mailto:support@harbor.example">support@harbor.example</a>&gt; wrote:<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex">When should we deliver?</blockquote></div>
--0000000000--
`,
      ),
    parsed: {
      subject: 'Re: Order 17',
      inReplyTo: 'our-mail@harbor.example',
      references: ['first@customer.example', 'our-mail@harbor.example'],
      text: /When should we deliver/,
      visibleText: 'Tomorrow is fine.',
      html: { has: [/<blockquote/, /When should we deliver/], hasNot: [/class=/] },
    },
  },
  {
    name: 'gmail-html-alone',
    source: () =>
      letter(
        'gmail-html-alone',
        { 'Content-Type': 'text/html; charset="UTF-8"' },
        `
<div dir="ltr"><div>Hello,</div><div>two <b>things</b>:</div><ul><li>colour</li><li>size, see <a href="https://shop.example/sizes">the table</a></li></ul></div><br><div class="gmail_quote"><div class="gmail_attr">Am Do., 19. Nov. 2026 um 16:02 Uhr schrieb Kundendienst &lt;<a href="mailto:support@harbor.example">support@harbor.example</a>&gt;:<br></div><blockquote class="gmail_quote">Was fehlt?<blockquote>Alles</blockquote></blockquote></div>
`,
      ),
    parsed: {
      text: /> Was fehlt\?\n>?\s*>> Alles/,
      visibleText: 'Hello,\ntwo things:\n\n- colour\n- size, see the table [https://shop.example/sizes]',
      html: { has: [/rel="noopener noreferrer nofollow"/, /target="_blank"/] },
    },
  },
  {
    name: 'outlook-reply-german',
    source: () =>
      letter(
        'outlook-reply-german',
        {
          'In-Reply-To': '<our-mail@harbor.example>',
          Subject: 'AW: Order 17',
          'Content-Type': 'text/plain; charset="iso-8859-1"',
          'Content-Transfer-Encoding': 'quoted-printable',
        },
        `
Sch=F6nen Dank, das passt.

Mit freundlichen Gr=FC=DFen
Cleo Customer

________________________________
Von: Customer Service <support@harbor.example>
Gesendet: Donnerstag, 19. November 2026 16:02
An: Cleo Customer <cleo@customer.example>
Betreff: Order 17

When should we deliver?
`,
      ),
    parsed: {
      subject: 'AW: Order 17',
      inReplyTo: 'our-mail@harbor.example',
      text: /Gesendet: Donnerstag/,
      visibleText: 'Schönen Dank, das passt.\n\nMit freundlichen Grüßen\nCleo Customer',
    },
  },
  {
    name: 'outlook-reply-french-html',
    source: () =>
      letter(
        'outlook-reply-french-html',
        {
          Subject: 'RE: Order 17',
          'Content-Type': 'text/html; charset="utf-8"',
          'Content-Transfer-Encoding': 'base64',
        },
        base64(`<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><style>p.MsoNormal{margin:0}</style></head><body>
<div class="elementToProof">C'est parfait, merci.</div>
<div id="appendonsend"></div>
<hr tabindex="-1" style="display:inline-block;width:98%">
<div id="divRplyFwdMsg" dir="ltr"><font face="Calibri, sans-serif" style="font-size:11pt" color="#000000"><b>De :</b> Customer Service &lt;support@harbor.example&gt;<br><b>Envoyé :</b> jeudi 19 novembre 2026 16:02<br><b>À :</b> Cleo Customer &lt;cleo@customer.example&gt;<br><b>Objet :</b> Order 17</font><div>&nbsp;</div></div>
<div>When should we deliver?</div></body></html>`),
      ),
    parsed: {
      subject: 'RE: Order 17',
      text: /Envoyé : jeudi/,
      visibleText: "C'est parfait, merci.",
      html: { has: [/parfait/, /<hr/], hasNot: [/MsoNormal/, /<meta/, /tabindex/] },
    },
  },
  {
    name: 'outlook-original-message',
    source: () =>
      letter(
        'outlook-original-message',
        { Subject: 'RE: Order 17' },
        `
Thanks, that works.

-----Original Message-----
From: Customer Service [mailto:support@harbor.example]
Sent: Thursday, November 19, 2026 4:02 PM
To: Cleo Customer
Subject: Order 17

When should we deliver?
`,
      ),
    parsed: { subject: 'RE: Order 17', text: /Original Message/, visibleText: 'Thanks, that works.' },
  },
  {
    name: 'apple-mail-picture-between-texts',
    source: () =>
      letter(
        'apple-mail-picture-between-texts',
        { 'Content-Type': 'multipart/mixed; boundary="Apple-Mail=_1"' },
        `
--Apple-Mail=_1
Content-Transfer-Encoding: 7bit
Content-Type: text/plain;
	charset=us-ascii

It looks like this:


--Apple-Mail=_1
Content-Disposition: inline;
	filename=IMG_0001.png
Content-Type: image/png;
	name="IMG_0001.png"
Content-Transfer-Encoding: base64

${base64(PNG)}
--Apple-Mail=_1
Content-Transfer-Encoding: 7bit
Content-Type: text/plain;
	charset=us-ascii

Is that right?

Sent from my iPhone
--Apple-Mail=_1--
`,
      ),
    parsed: {
      text: /Sent from my iPhone/,
      visibleText: /^It looks like this:\n+Is that right\?$/,
      attachments: [['IMG_0001.png', 'image/png', PNG.length]],
    },
  },
  {
    name: 'thunderbird-flowed-interleaved',
    source: () =>
      letter(
        'thunderbird-flowed-interleaved',
        { 'Content-Type': 'text/plain; charset=UTF-8; format=flowed' },
        `
On 19.11.26 16:02, Customer Service wrote:
> When should we 
> deliver?

Tomorrow, because the day after I am 
away.

> And where?

At home.
-- 
Cleo
`,
      ),
    parsed: {
      text: /-- \nCleo/,
      visibleText:
        'On 19.11.26 16:02, Customer Service wrote:\n> When should we deliver?\n\nTomorrow, because the day after I am away.\n\n> And where?\n\nAt home.',
    },
  },
  {
    name: 'answer-below-the-quote',
    source: () =>
      letter(
        'answer-below-the-quote',
        {},
        `
Customer Service schrieb am 19.11.2026 um 16:02:
> When should we deliver?
> Customer Service

Tomorrow.
`,
      ),
    parsed: { text: /When should we deliver/, visibleText: 'Tomorrow.' },
  },
  {
    name: 'signature-above-the-quote',
    source: () =>
      letter(
        'signature-above-the-quote',
        {},
        `
Tomorrow.

-- 
Cleo Customer
Phone 123

Le jeu. 19 nov. 2026 à 16:02, Customer Service <support@harbor.example> a
écrit :
> When should we deliver?
`
          .replace('à', utf8('à'))
          .replace('é', utf8('é')),
      ),
    parsed: { text: /Phone 123/, visibleText: 'Tomorrow.' },
  },
  {
    name: 'nested-replies',
    source: () =>
      letter(
        'nested-replies',
        { References: Array.from({ length: 40 }, (_, index) => `<${index}@customer.example>`).join('\n ') },
        `
Third.

On Wed, 18 Nov 2026, Customer Service wrote:
> Second.
>
> On Tue, 17 Nov 2026, Cleo wrote:
>> First.
>>
>>> Before all of it.
`,
      ),
    parsed: {
      references: Array.from({ length: 40 }, (_, index) => `${index}@customer.example`),
      text: /Before all of it/,
      visibleText: 'Third.',
    },
  },
  {
    name: 'quote-alone',
    source: () => letter('quote-alone', {}, '> When should we deliver?\n> Tomorrow?\n'),
    parsed: { visibleText: '> When should we deliver?\n> Tomorrow?' },
  },
  {
    name: 'forwarded',
    source: () =>
      letter(
        'forwarded',
        { Subject: 'Fwd: Invoice' },
        `
See below.

---------- Forwarded message ---------
From: Shop <shop@shop.example>
Date: Thu, Nov 19, 2026 at 1:00 PM
Subject: Invoice
To: <cleo@customer.example>

Invoice 4711 is open.
`,
      ),
    parsed: { subject: 'Fwd: Invoice', visibleText: /^See below\.[\s\S]*Invoice 4711 is open\.$/ },
  },
  {
    name: 'mobile-outlook',
    source: () => letter('mobile-outlook', {}, 'Yes please.\n\nGet Outlook for iOS<https://aka.ms/o0ukef>\n'),
    parsed: { text: /Get Outlook/, visibleText: 'Yes please.' },
  },
  {
    name: 'yahoo-japan-reply',
    source: () =>
      letter(
        'yahoo-japan-reply',
        { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Transfer-Encoding': '8bit' },
        utf8(
          '明日でお願いします。\n\n2026年11月19日(木) 16:02 Customer Service <support@harbor.example>:\n> いつ届けますか。\n',
        ),
      ),
    parsed: { text: /いつ届けますか/, visibleText: '明日でお願いします。' },
  },
  {
    name: 'calendar-invitation',
    source: () =>
      letter(
        'calendar-invitation',
        { Subject: 'Invitation: Visit', 'Content-Type': 'multipart/mixed; boundary=cal' },
        `
--cal
Content-Type: multipart/alternative; boundary=alt

--alt
Content-Type: text/plain; charset=utf-8

We meet on Friday.
--alt
Content-Type: text/html; charset=utf-8

<p>We meet on <b>Friday</b>.</p>
--alt
Content-Type: text/calendar; charset=utf-8; method=REQUEST

BEGIN:VCALENDAR
END:VCALENDAR
--alt--
--cal
Content-Type: application/ics; name="invite.ics"
Content-Disposition: attachment; filename="invite.ics"
Content-Transfer-Encoding: base64

${base64('BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n')}
--cal--
`,
      ),
    parsed: {
      subject: 'Invitation: Visit',
      visibleText: 'We meet on Friday.',
      html: { has: [/<b>Friday<\/b>/] },
      attachments: [
        ['invite.ics', 'text/calendar', 30],
        ['invite.ics', 'application/ics', 32],
      ],
    },
  },
  {
    name: 'inline-picture',
    source: () =>
      letter(
        'inline-picture',
        { 'Content-Type': 'multipart/related; boundary=rel; type="text/html"' },
        `
--rel
Content-Type: text/html; charset=utf-8

<p>Broken here: <img src="cid:shot%40customer" alt="shot" onerror="alert(1)"> and <img src="cid:none"></p>
--rel
Content-Type: image/png
Content-ID: <shot@customer>
Content-Transfer-Encoding: base64

${base64(PNG)}
--rel--
`,
      ),
    parsed: {
      visibleText: 'Broken here: and',
      html: { has: [/<img alt="shot" data-attachment="0" \/>/], hasNot: [/onerror/, /cid:/] },
      attachments: [['attachment.png', 'image/png', PNG.length]],
    },
  },
  {
    name: 'forwarded-as-attachment',
    source: () =>
      letter(
        'forwarded-as-attachment',
        { 'Content-Type': 'multipart/mixed; boundary=fwd' },
        `
--fwd

As attachment.
--fwd
Content-Type: message/rfc822
Content-Disposition: attachment

From: other@other.example
Subject: Inner
Content-Type: multipart/mixed; boundary=inner

--inner
Content-Type: text/plain

Inner text.
--inner--
--fwd--
`,
      ),
    parsed: { visibleText: 'As attachment.', attachments: [['message.eml', 'message/rfc822', 151]] },
  },
  {
    name: 'winmail-dat',
    source: () =>
      letter(
        'winmail-dat',
        { 'Content-Type': 'multipart/mixed; boundary=tnef' },
        `
--tnef
Content-Type: text/plain

See the file.
--tnef
Content-Type: application/ms-tnef; name="winmail.dat"
Content-Disposition: attachment; filename="winmail.dat"
Content-Transfer-Encoding: base64

${base64(Buffer.from([0x78, 0x9f, 0x3e, 0x22, 0, 1]))}
--tnef--
`,
      ),
    parsed: { visibleText: 'See the file.', attachments: [['winmail.dat', 'application/ms-tnef', 6]] },
  },
  {
    name: 'signed-with-pgp',
    source: () =>
      letter(
        'signed-with-pgp',
        { 'Content-Type': 'multipart/signed; boundary=sig; protocol="application/pgp-signature"' },
        `
--sig
Content-Type: text/plain

Signed.
--sig
Content-Type: application/pgp-signature; name=signature.asc

-----BEGIN PGP SIGNATURE-----
-----END PGP SIGNATURE-----
--sig--
`,
      ),
    parsed: {
      protection: 'signed',
      visibleText: 'Signed.',
    },
  },
  {
    name: 'text-file',
    source: () =>
      letter(
        'text-file',
        { 'Content-Type': 'multipart/mixed; boundary=txt' },
        `
--txt

The log is attached.
--txt
Content-Type: text/plain; name="app.log"

line 1
--txt
Content-Type: text/csv
Content-Disposition: attachment; filename="a.csv"

1;2
--txt--
`,
      ),
    parsed: {
      visibleText: 'The log is attached.',
      attachments: [
        ['app.log', 'text/plain', 6],
        ['a.csv', 'text/csv', 3],
      ],
    },
  },
  {
    name: 'attachment-alone',
    source: () =>
      letter(
        'attachment-alone',
        {
          'Content-Type': 'application/pdf; name=scan.pdf',
          'Content-Disposition': 'attachment; filename=scan.pdf',
          'Content-Transfer-Encoding': 'base64',
        },
        base64('%PDF-1.7'),
      ),
    parsed: { visibleText: '', attachments: [['scan.pdf', 'application/pdf', 8]] },
  },
  {
    name: 'ten-megabytes',
    source: () =>
      letter(
        'ten-megabytes',
        { 'Content-Type': 'multipart/mixed; boundary=big' },
        `
--big

Large.
--big
Content-Type: application/zip
Content-Disposition: attachment; filename="backup.zip"
Content-Transfer-Encoding: base64

${base64(Buffer.alloc(7_500_000, 'parley'))}
--big--
`,
      ),
    parsed: { visibleText: 'Large.', attachments: [['backup.zip', 'application/zip', 7_500_000]] },
  },
];
