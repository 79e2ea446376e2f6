/** Reports of mail that was not delivered. */

import { base64, type CorpusMail, letter } from './corpus-mail.ts';

const CLEO = 'cleo@customer.example';

function daemon(
  name: string,
  from: string,
  fields: Readonly<Record<string, string | null>>,
  body: string,
): Buffer {
  return letter(
    name,
    { 'Return-Path': '<>', From: from, Subject: 'Undelivered Mail Returned to Sender', ...fields },
    body,
  );
}

const OURS = `Received: from harbor.example
Message-ID: <our-mail@harbor.example>
From: Customer Service <support@harbor.example>
To: ${CLEO}
Subject: Order 17`;

function from(address: string, name: string | null) {
  return { from: { address, name } };
}

export const BOUNCES: readonly CorpusMail[] = [
  {
    name: 'bounce-of-postfix',
    source: () =>
      daemon(
        'bounce-of-postfix',
        'Mail Delivery System <MAILER-DAEMON@mx.customer.example>',
        {
          'Auto-Submitted': 'auto-replied',
          'Content-Type': 'multipart/report; report-type=delivery-status; boundary="r"',
        },
        `
This is a MIME-encapsulated message.

--r
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

This is the mail system at host mx.customer.example.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients.

<${CLEO}>: host 192.0.2.1 said: 550 5.1.1 User unknown (in reply to RCPT TO command)

--r
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.customer.example
Arrival-Date: Fri, 20 Nov 2026 10:00:00 +0100 (CET)

Final-Recipient: rfc822; ${CLEO}
Original-Recipient: rfc822;Cleo@customer.example
Action: failed
Status: 5.1.1
Remote-MTA: dns; 192.0.2.1
Diagnostic-Code: smtp; 550 5.1.1 User unknown
 (in reply to RCPT TO command)

--r
Content-Description: Undelivered Message
Content-Type: message/rfc822

${OURS}
Content-Type: text/plain

When should we deliver?
--r--
`,
      ),
    parsed: {
      ...from('mailer-daemon@mx.customer.example', 'Mail Delivery System'),
      subject: 'Undelivered Mail Returned to Sender',
      visibleText: /^This is the mail system/,
      report: {
        recipients: [
          {
            address: CLEO,
            action: 'failed',
            status: '5.1.1',
          },
        ],
        evidence: 'form',
        originalRfcId: 'our-mail@harbor.example',
      },
    },
  },
  {
    name: 'delay-of-sendmail',
    source: () =>
      daemon(
        'delay-of-sendmail',
        'Mail Delivery Subsystem <MAILER-DAEMON@mx.customer.example>',
        {
          Subject: 'Warning: could not send message for past 4 hours',
          'Content-Type': 'multipart/report; report-type=delivery-status; boundary=r',
        },
        `
--r

    **********************************************
    **      THIS IS A WARNING MESSAGE ONLY      **
    **********************************************
--r
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.customer.example

Final-Recipient: RFC822; ${CLEO}
Action: delayed
Status: 4.4.1
Diagnostic-Code: SMTP; 451 4.4.1 timeout
Will-Retry-Until: Wed, 25 Nov 2026 10:00:00 +0100

Final-Recipient: RFC822; other@customer.example
Action: delivered
Status: 2.0.0
--r
Content-Type: text/rfc822-headers

${OURS}
--r--
`,
      ),
    parsed: {
      ...from('mailer-daemon@mx.customer.example', 'Mail Delivery Subsystem'),
      subject: 'Warning: could not send message for past 4 hours',
      visibleText: /WARNING MESSAGE ONLY/,
      report: {
        recipients: [
          { address: CLEO, action: 'delayed', status: '4.4.1' },
          { address: 'other@customer.example', action: 'delivered', status: '2.0.0' },
        ],
        evidence: 'form',
        originalRfcId: 'our-mail@harbor.example',
      },
    },
  },
  {
    name: 'bounce-of-exchange',
    source: () =>
      daemon(
        'bounce-of-exchange',
        'Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@customer.example>',
        {
          Subject: 'Undeliverable: Order 17',
          'Content-Type': 'multipart/report; report-type=delivery-status; boundary="x"',
        },
        `
--x
Content-Type: multipart/alternative; boundary="y"

--y
Content-Type: text/plain; charset="us-ascii"

Delivery has failed to these recipients or groups:

${CLEO}
The email address you entered couldn't be found.
--y
Content-Type: text/html; charset="us-ascii"

<p>Delivery has failed to these recipients or groups:</p>
--y--
--x
Content-Type: message/delivery-status

Reporting-MTA: dns;EX01.customer.example
Received-From-MTA: dns;mail.harbor.example

Final-recipient: RFC822;${CLEO}
Action: failed
Status: 5.1.10
Diagnostic-code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found
--x
Content-Type: message/rfc822
Content-Transfer-Encoding: base64

${base64(`${OURS}\n\nText\n`.replace(/\n/g, '\r\n'))}
--x--
`,
      ),
    parsed: {
      ...from('microsoftexchange329e71ec88ae4615bbc36ab6ce41109e@customer.example', 'Microsoft Outlook'),
      subject: 'Undeliverable: Order 17',
      visibleText: /^Delivery has failed/,
      html: {},
      report: {
        recipients: [
          {
            address: CLEO,
            action: 'failed',
            status: '5.1.10',
          },
        ],
        evidence: 'form',
        originalRfcId: 'our-mail@harbor.example',
      },
    },
  },
  {
    name: 'bounce-of-gmail',
    source: () =>
      daemon(
        'bounce-of-gmail',
        'Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
        {
          'X-Failed-Recipients': CLEO,
          Subject: 'Delivery Status Notification (Failure)',
          'Content-Type': 'multipart/report; boundary="g"; report-type=delivery-status',
        },
        `
--g
Content-Type: multipart/related; boundary="h"

--h
Content-Type: multipart/alternative; boundary="i"

--i
Content-Type: text/plain; charset="UTF-8"

** Address not found **

Your message wasn't delivered to ${CLEO} because the address couldn't be found.
--i
Content-Type: text/html; charset="UTF-8"

<b>Address not found</b>
--i--
--h
Content-Type: image/png; name="icon.png"
Content-Disposition: attachment; filename="icon.png"
Content-Transfer-Encoding: base64
Content-ID: <icon.png>

AAAA
--h--
--g
Content-Type: message/delivery-status

Reporting-MTA: dns; googlemail.com
X-Original-Message-ID: <our-mail@harbor.example>

Final-Recipient: rfc822; ${CLEO}
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist.
--g
Content-Type: message/rfc822

${OURS}

Text
--g--
`,
      ),
    parsed: {
      ...from('mailer-daemon@googlemail.com', 'Mail Delivery Subsystem'),
      subject: 'Delivery Status Notification (Failure)',
      visibleText: /Address not found/,
      html: {},
      attachments: [['icon.png', 'image/png', 3]],
      report: {
        recipients: [
          {
            address: CLEO,
            action: 'failed',
            status: '5.1.1',
          },
        ],
        evidence: 'form',
        originalRfcId: 'our-mail@harbor.example',
      },
    },
  },
  {
    name: 'bounce-of-qmail',
    source: () =>
      daemon(
        'bounce-of-qmail',
        'MAILER-DAEMON@mx.customer.example',
        { Subject: 'failure notice' },
        `
Hi. This is the qmail-send program at mx.customer.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<${CLEO}>:
192.0.2.1 does not like recipient.
Remote host said: 550 sorry, no mailbox here by that name (#5.1.1)
Giving up on 192.0.2.1.

--- Below this line is a copy of the message.

Return-Path: <support@harbor.example>
${OURS}

When should we deliver to other@customer.example?
`,
      ),
    parsed: {
      ...from('mailer-daemon@mx.customer.example', null),
      subject: 'failure notice',
      visibleText: /^Hi\. This is the qmail-send program/,
      report: {
        recipients: [
          {
            address: CLEO,
            action: 'failed',
            status: '5.1.1',
          },
        ],
        evidence: 'sender',
        originalRfcId: 'our-mail@harbor.example',
      },
    },
  },
  {
    name: 'bounce-of-exim',
    source: () =>
      daemon(
        'bounce-of-exim',
        'Mail Delivery System <Mailer-Daemon@mx.customer.example>',
        {
          'X-Failed-Recipients': CLEO,
          'Auto-Submitted': 'auto-replied',
          Subject: 'Mail delivery failed: returning message to sender',
        },
        `
This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ${CLEO}
    SMTP error from remote mail server after RCPT TO:<${CLEO}>:
    host mx.customer.example [192.0.2.1]: 550 5.7.1 Unable to relay

------ This is a copy of the message, including all the headers. ------

Return-path: <support@harbor.example>
${OURS}

When should we deliver?
`,
      ),
    parsed: {
      ...from('mailer-daemon@mx.customer.example', 'Mail Delivery System'),
      subject: 'Mail delivery failed: returning message to sender',
      visibleText: /^This message was created automatically/,
      report: {
        recipients: [
          {
            address: CLEO,
            action: 'failed',
            status: '5.7.1',
          },
        ],
        evidence: 'sender',
        originalRfcId: 'our-mail@harbor.example',
      },
    },
  },
  {
    name: 'bounce-of-old-postfix',
    source: () =>
      daemon(
        'bounce-of-old-postfix',
        'MAILER-DAEMON (Mail Delivery System)',
        {},
        `
This is the Postfix program at host mx.customer.example.

I'm sorry to have to inform you that the message returned
below could not be delivered to one or more destinations.

			The Postfix program

<${CLEO}>: host mx2.customer.example[192.0.2.2] said: 552 Mailbox full

----- Undelivered Message -----
${OURS}
`,
      ),
    parsed: {
      from: null,
      subject: 'Undelivered Mail Returned to Sender',
      visibleText: /^This is the Postfix program/,
      report: {
        recipients: [
          {
            address: CLEO,
            action: 'failed',
            status: '5.0.0',
          },
        ],
        evidence: 'sender',
        originalRfcId: 'our-mail@harbor.example',
      },
    },
  },
  {
    name: 'bounce-of-old-exchange',
    source: () =>
      daemon(
        'bounce-of-old-exchange',
        'System Administrator <postmaster@customer.example>',
        { Subject: 'Undeliverable: Order 17', 'In-Reply-To': '<our-mail@harbor.example>' },
        `
Your message did not reach some or all of the intended recipients.

      Subject:	Order 17
      Sent:	20.11.2026 10:00

The following recipient(s) could not be reached:

      ${CLEO} on 20.11.2026 10:00
            The e-mail account does not exist at the organization this message was sent to.
            <mx.customer.example #5.1.1>
`,
      ),
    parsed: {
      ...from('postmaster@customer.example', 'System Administrator'),
      subject: 'Undeliverable: Order 17',
      inReplyTo: 'our-mail@harbor.example',
      visibleText: /did not reach/,
      report: {
        recipients: [
          {
            address: CLEO,
            action: 'failed',
            status: '5.1.1',
          },
        ],
        evidence: 'sender',
        originalRfcId: 'our-mail@harbor.example',
      },
    },
  },
  {
    name: 'bounce-that-a-customer-quotes',
    source: () =>
      letter(
        'bounce-that-a-customer-quotes',
        {},
        `
I got this from you, what does it mean?

This message was created automatically by mail delivery software.
The following address(es) failed:

  cleo@customer.example
    550 5.1.1 unknown
`,
      ),
    parsed: {
      visibleText: /what does it mean/,
      report: {
        recipients: [{ address: CLEO, action: 'failed', status: '5.1.1' }],
        evidence: 'words',
        originalRfcId: null,
      },
    },
  },
];
