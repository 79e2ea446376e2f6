/** Reports about mail that was delivered. */

import { type CorpusMail, letter } from './corpus-mail.ts';

const CLEO = 'cleo@customer.example';

export const FEEDBACK: readonly CorpusMail[] = [
  {
    name: 'complaint',
    source: () =>
      letter(
        'complaint',
        {
          'Return-Path': '<>',
          From: 'Feedback <fbl@customer.example>',
          Subject: 'Abuse report',
          'Content-Type': 'multipart/report; report-type=feedback-report; boundary=f',
        },
        `
--f

A user has called a mail spam.
--f
Content-Type: message/feedback-report

Feedback-Type: Abuse
User-Agent: Customer/1.0
Version: 1
Original-Rcpt-To: <${CLEO}>
--f
Content-Type: message/rfc822

Message-ID: <our-mail@harbor.example>

Text
--f--
`,
      ),
    parsed: {
      from: { address: 'fbl@customer.example', name: 'Feedback' },
      subject: 'Abuse report',
      visibleText: 'A user has called a mail spam.',
      complaint: { kind: 'abuse', addresses: [CLEO], originalRfcId: 'our-mail@harbor.example' },
    },
  },
  {
    name: 'read-receipt',
    source: () =>
      letter(
        'read-receipt',
        {
          Subject: 'Read: Order 17',
          'Content-Type': 'multipart/report; report-type=disposition-notification; boundary=m',
        },
        `
--m

Your message was read.
--m
Content-Type: message/disposition-notification

Final-Recipient: rfc822;${CLEO}
Original-Message-ID: <our-mail@harbor.example>
Disposition: manual-action/MDN-sent-manually; displayed
--m--
`,
      ),
    parsed: { subject: 'Read: Order 17', visibleText: 'Your message was read.' },
  },
];
