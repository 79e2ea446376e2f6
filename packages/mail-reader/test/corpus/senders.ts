/** Machines, strangers, and senders that are not what they say. */

import { type CorpusMail, letter, utf8 } from './corpus-mail.ts';

const ANSWER = { 'In-Reply-To': '<our-mail@harbor.example>', References: '<our-mail@harbor.example>' };
const ANSWERED = { inReplyTo: 'our-mail@harbor.example', references: ['our-mail@harbor.example'] };

export const SENDERS: readonly CorpusMail[] = [
  {
    name: 'auto-reply-english',
    source: () =>
      letter(
        'auto-reply-english',
        {
          ...ANSWER,
          Subject: 'Automatic reply: Order 17',
          'Auto-Submitted': 'auto-replied',
          'X-Auto-Response-Suppress': 'All',
        },
        'I am out of the office until Monday.\n',
      ),
    parsed: {
      ...ANSWERED,
      subject: 'Automatic reply: Order 17',
      visibleText: 'I am out of the office until Monday.',
      headers: { 'auto-submitted': 'auto-replied' },
    },
  },
  {
    name: 'auto-reply-german',
    source: () =>
      letter(
        'auto-reply-german',
        {
          ...ANSWER,
          Subject: 'Abwesenheitsnotiz: Order 17',
          'Auto-Submitted': 'auto-replied (vacation)',
          Precedence: 'bulk',
        },
        'Ich bin bis Montag nicht im Haus.\n',
      ),
    parsed: {
      ...ANSWERED,
      subject: 'Abwesenheitsnotiz: Order 17',
      visibleText: 'Ich bin bis Montag nicht im Haus.',
      headers: { 'auto-submitted': 'auto-replied (vacation)', precedence: 'bulk' },
    },
  },
  {
    name: 'auto-reply-french',
    source: () =>
      letter(
        'auto-reply-french',
        {
          ...ANSWER,
          'Return-Path': '<>',
          Subject: utf8('Réponse automatique : Order 17'),
          'Content-Type': 'text/plain; charset=utf-8',
        },
        utf8("Je suis absente jusqu'à lundi.\n"),
      ),
    parsed: {
      ...ANSWERED,
      subject: 'Réponse automatique : Order 17',
      visibleText: "Je suis absente jusqu'à lundi.",
      headers: { 'return-path': '<>' },
    },
  },
  {
    name: 'auto-reply-spanish',
    source: () =>
      letter(
        'auto-reply-spanish',
        {
          ...ANSWER,
          Subject: 'Respuesta =?utf-8?Q?autom=C3=A1tica?=: Order 17',
          Precedence: 'auto_reply',
          'X-Autoreply': 'yes',
        },
        'Estoy fuera de la oficina hasta el lunes.\n',
      ),
    parsed: {
      ...ANSWERED,
      subject: 'Respuesta automática: Order 17',
      visibleText: 'Estoy fuera de la oficina hasta el lunes.',
      headers: { precedence: 'auto_reply' },
    },
  },
  {
    name: 'person-with-auto-response-suppress',
    source: () =>
      letter(
        'person-with-auto-response-suppress',
        {
          ...ANSWER,
          Subject: 'Re: Order 17',
          'X-Auto-Response-Suppress': 'DR, OOF, AutoReply',
          'Auto-Submitted': 'no',
        },
        'I am a person.\n',
      ),
    parsed: { ...ANSWERED, subject: 'Re: Order 17', visibleText: 'I am a person.' },
  },
  {
    name: 'newsletter-answers-an-old-thread',
    source: () =>
      letter(
        'newsletter-answers-an-old-thread',
        {
          ...ANSWER,
          'Return-Path': '<bounce-17@news.example>',
          From: 'Great News <news@news.example>',
          Subject: 'Re: Order 17',
          'List-Id': 'Great News <list.news.example>',
          'List-Unsubscribe': '<https://news.example/leave>',
          'Content-Type': 'text/html',
        },
        '<div style="display:none">Preview for the list of mails</div><table><tr><td>Sale!</td><td>Now.</td></tr></table><img src="https://news.example/open?u=1" width="1" height="1">',
      ),
    parsed: {
      ...ANSWERED,
      from: { address: 'news@news.example', name: 'Great News' },
      subject: 'Re: Order 17',
      visibleText: 'Sale! Now.',
      html: { has: [/data-remote-src="https:\/\/news\.example\/open\?u=1"/], hasNot: [/ src=/] },
      headers: { 'list-id': 'Great News <list.news.example>' },
    },
  },
  {
    name: 'mailing-list-with-a-footer',
    source: () =>
      letter(
        'mailing-list-with-a-footer',
        {
          From: 'Cleo via Talk <talk@lists.example>',
          'Reply-To': 'Cleo Customer <cleo@customer.example>',
          'List-Id': '<talk.lists.example>',
          'Content-Type': 'multipart/mixed; boundary=list',
        },
        `
--list
Content-Type: text/html

<p>Hello list</p>
--list
Content-Type: text/plain

Talk mailing list, leave <here>
--list--
`,
      ),
    parsed: {
      from: { address: 'talk@lists.example', name: 'Cleo via Talk' },
      replyTo: { address: 'cleo@customer.example', name: 'Cleo Customer' },
      visibleText: 'Hello list\nTalk mailing list, leave <here>',
      html: { has: [/<p>Hello list<\/p>/, /leave &lt;here&gt;/] },
    },
  },
  {
    name: 'stranger-knows-our-id',
    source: () =>
      letter(
        'stranger-knows-our-id',
        {
          ...ANSWER,
          'Return-Path': '<mallory@evil.example>',
          From: 'Mallory <mallory@evil.example>',
          Subject: 'Re: Order 17',
        },
        'Please send it to me instead.\n',
      ),
    parsed: {
      ...ANSWERED,
      from: { address: 'mallory@evil.example', name: 'Mallory' },
      subject: 'Re: Order 17',
      visibleText: 'Please send it to me instead.',
    },
  },
  {
    name: 'forged-customer',
    source: () =>
      letter(
        'forged-customer',
        {
          ...ANSWER,
          'Return-Path': '<x@evil.example>',
          Subject: 'Re: Order 17',
          'Authentication-Results':
            'mx.harbor.example; spf=fail smtp.mailfrom=evil.example;\n\tdkim=none; dmarc=fail (p=reject) header.from=customer.example',
        },
        'Please change my address.\n',
      ),
    parsed: {
      ...ANSWERED,
      subject: 'Re: Order 17',
      visibleText: 'Please change my address.',
      headers: {
        'authentication-results':
          'mx.harbor.example; spf=fail smtp.mailfrom=evil.example; dkim=none; dmarc=fail (p=reject) header.from=customer.example',
      },
    },
  },
  {
    name: 'address-in-the-name',
    source: () =>
      letter(
        'address-in-the-name',
        { From: '"cleo@customer.example" <mallory@evil.example>' },
        'It is me.\n',
      ),
    parsed: {
      from: { address: 'mallory@evil.example', name: 'cleo@customer.example' },
      visibleText: 'It is me.',
    },
  },
  {
    name: 'address-in-an-encoded-word',
    source: () =>
      letter(
        'address-in-an-encoded-word',
        { From: '=?utf-8?Q?cleo=40customer=2Eexample=3E=2C_x?= <mallory@evil.example>' },
        'It is me.\n',
      ),
    parsed: {
      from: { address: 'mallory@evil.example', name: 'cleo@customer.example>, x' },
      visibleText: 'It is me.',
    },
  },
  {
    name: 'two-senders',
    source: () =>
      letter(
        'two-senders',
        { From: 'Mallory <mallory@evil.example>\nFrom: Cleo <cleo@customer.example>' },
        'One of us.\n',
      ),
    parsed: { from: { address: 'mallory@evil.example', name: 'Mallory' }, visibleText: 'One of us.' },
  },
  {
    name: 'lines-in-an-encoded-header',
    source: () =>
      letter(
        'lines-in-an-encoded-header',
        {
          Subject: '=?utf-8?Q?Order=0D=0ABcc:_all@harbor.example?=',
          From: '=?utf-8?Q?Cleo=0A=00?= <cleo@customer.example>',
        },
        'Hello.\n',
      ),
    parsed: {
      subject: 'Order Bcc: all@harbor.example',
      from: { address: 'cleo@customer.example', name: 'Cleo' },
      visibleText: 'Hello.',
    },
  },
  {
    name: 'note-of-a-team-member',
    source: () =>
      letter(
        'note-of-a-team-member',
        {
          ...ANSWER,
          'Return-Path': '<grace@harbor.example>',
          From: 'Grace <grace@harbor.example>',
          Subject: 'Re: Order 17',
        },
        'I know this customer.\n',
      ),
    parsed: {
      ...ANSWERED,
      from: { address: 'grace@harbor.example', name: 'Grace' },
      subject: 'Re: Order 17',
      visibleText: 'I know this customer.',
    },
  },
  {
    name: 'own-inbox-as-sender',
    source: () =>
      letter(
        'own-inbox-as-sender',
        { 'Return-Path': '<support@harbor.example>', From: 'Harbor <support@harbor.example>' },
        'A loop.\n',
      ),
    parsed: { from: { address: 'support@harbor.example', name: 'Harbor' }, visibleText: 'A loop.' },
  },
  {
    name: 'changed-subject',
    source: () => letter('changed-subject', { ...ANSWER, Subject: 'Another question' }, 'And the invoice?\n'),
    parsed: { ...ANSWERED, subject: 'Another question', visibleText: 'And the invoice?' },
  },
  {
    name: 'same-subject-alone',
    source: () =>
      letter(
        'same-subject-alone',
        { From: 'Other <other@other.example>', Subject: 'Re: Order 17' },
        'My order 17.\n',
      ),
    parsed: {
      from: { address: 'other@other.example', name: 'Other' },
      subject: 'Re: Order 17',
      visibleText: 'My order 17.',
    },
  },
];
