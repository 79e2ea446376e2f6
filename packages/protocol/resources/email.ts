import { type Static, Type } from 'typebox';
import { describe, Identity, Nullable, OneOf, Times, Timestamp } from '../schema/schema.ts';
import { MEMBERS_SINCE, type MembersSince, Since } from '../schema/since.ts';
import { EmailComplaint } from './email-complaint.ts';
import { Inbox } from './inbox.ts';

/** The statuses of outgoing mail. */
export const SENT_EMAIL_STATUSES = ['queued', 'sent', 'deferred', 'bounced', 'failed', 'canceled'] as const;
export type SentEmailStatus = (typeof SENT_EMAIL_STATUSES)[number];

/** The statuses of mail: the last three are of incoming mail. */
const EMAIL_STATUSES = [...SENT_EMAIL_STATUSES, 'received', 'accepted', 'ignored'] as const;
export type EmailStatus = (typeof EMAIL_STATUSES)[number];

/** A recipient of an outgoing mail, or an address to which an incoming mail was sent. */
export const EmailRecipient = Type.Object({
  address: Type.String(),
  kind: OneOf(['to', 'cc']),
  status: Nullable(OneOf(['queued', 'sent', 'deferred', 'bounced', 'failed'])),
  code: Nullable(Type.String()),
});
export type EmailRecipient = Static<typeof EmailRecipient>;

describe(EmailRecipient, {
  address: 'Email address of the recipient.',
  kind: 'Whether the address is a recipient (`to`) or in copy (`cc`).',
  status: 'What became of the mail at this recipient. Null for mail that came in.',
  code: 'The answer of the server or the status of the bounce, such as `5.1.1`. Null where there is none.',
});

export const AUTHENTICATION_RESULTS = [
  'pass',
  'fail',
  'softfail',
  'neutral',
  'none',
  'temperror',
  'permerror',
] as const;
export type AuthenticationResult = (typeof AUTHENTICATION_RESULTS)[number];

/** Whether the sender of an incoming mail is proven. */
export const EmailVerdict = Type.Object({
  source: OneOf(['checked', 'header', 'none']),
  spf: OneOf(AUTHENTICATION_RESULTS),
  dkim: OneOf(AUTHENTICATION_RESULTS),
  dmarc: OneOf(AUTHENTICATION_RESULTS),
  result: OneOf(['pass', 'fail', 'none']),
});
export type EmailVerdict = Static<typeof EmailVerdict>;

describe(EmailVerdict, {
  source:
    '`checked` by this server, read from the `header` of a server that it trusts, or `none`: nothing is known.',
  spf: 'Whether the server that sent the mail may send for the domain of its envelope (RFC 7208).',
  dkim: 'Whether a signature of the mail is valid (RFC 6376).',
  dmarc: 'Whether one of the two belongs to the domain of the `From` header (RFC 7489).',
  result:
    '`fail`: the sender is forged or may be, and the mail enters no existing case as that customer. `pass`: the sender is proven. `none`: neither.',
});

/** An incoming or outgoing mail (docs/contract.md#email). */
export const Email = Type.Object({
  ...Identity('email'),
  direction: OneOf(['in', 'out']),
  purpose: OneOf(
    ['reply', 'digest', 'message', 'note', 'bounce', 'automatic', 'confirmation', 'invitation'],
    {
      [MEMBERS_SINCE]: {
        confirmation: '1.3.harbor',
        invitation: '1.4.harbor',
      } satisfies MembersSince,
    },
  ),
  status: OneOf(EMAIL_STATUSES),
  reason: Nullable(Type.String()),
  inbox_id: Nullable(Type.String()),
  conversation_id: Nullable(Type.String()),
  message_id: Nullable(Type.String()),
  rfc_message_id: Type.String(),
  in_reply_to: Nullable(Type.String()),
  automatic: Type.Boolean(),
  attempts: Type.Integer({ minimum: 0 }),
  next_try_at: Nullable(Timestamp),
  sent_at: Nullable(Timestamp),
  from_address: Nullable(Type.String()),
  from_name: Nullable(Type.String()),
  recipients: Type.Array(EmailRecipient),
  subject: Nullable(Type.String()),
  verdict: Nullable(EmailVerdict),
  protection: Since('1.4.harbor', Nullable(OneOf(['signed', 'encrypted']))),
  text: Nullable(Type.String()),
  html: Nullable(Type.String()),
  source_url: Nullable(Type.String()),
  size_bytes: Nullable(Type.Integer({ minimum: 0 })),
  ...Times,
  omitted_text: Since('1.4.harbor', Nullable(Type.String())),
});
export type Email = Static<typeof Email>;
export type EmailPurpose = Email['purpose'];
export type EmailDirection = Email['direction'];

describe(Email, {
  direction: '`in` for mail that came in, `out` for mail that goes out.',
  purpose:
    'What the mail is for: a `reply` to a customer, a `digest` of notifications the `confirmation` of an address or an `invitation` of a user goes out; a `message` of a customer, a `note` of a team member, a `bounce` or an `automatic` mail (an auto-reply) came in.',
  status:
    'Out: `queued`, `sent` to the next server, `deferred` until `next_try_at`, `bounced` later, `failed`, or `canceled` before it left. In: `received` and being read, `accepted` as a message, or `ignored`.',
  reason: 'A code that says why the mail has its status. Null where there is nothing to say.',
  inbox_id: 'Id of the inbox. Null for digests.',
  conversation_id: 'Id of the case. Null where the mail belongs to none.',
  message_id: 'Id of the message that the mail carries. Null where there is none.',
  rfc_message_id:
    'The `Message-ID` header without its brackets. It stays the same when the mail is sent again.',
  in_reply_to: 'The `In-Reply-To` header without its brackets. Null where there is none.',
  automatic:
    'Whether a machine wrote the mail or, where a `message` of a customer has a header of lists, may have written it: then it starts no agent and notifies no user.',
  attempts: 'Number of tries so far. 0 for mail that came in.',
  next_try_at: 'When the mail is tried next. Null once it is not tried any more, and for mail that came in.',
  sent_at: 'When the next server took the mail. Null before, and for mail that came in.',
  from_address: 'Address of the `From` header.',
  from_name: 'Name of the `From` header. Null where there is none.',
  recipients: 'Every recipient, with what became of the mail there.',
  subject: 'The `Subject` header. Null where there is none.',
  verdict: 'Whether the sender is proven. Null for mail that goes out.',
  protection:
    '`signed`: by S/MIME or PGP, in whole or in part; the signature is not checked. `encrypted`: it cannot be read here, and is attached. Null for other mail, and for mail that goes out.',
  text: 'The whole text, quotes and signature included. Null for mail that goes out, and where there is none.',
  html: 'The HTML, sanitized. Show it in a sandboxed frame alone. Null for mail that goes out, and where there is none.',
  source_url:
    'A signed link to the mail as it came. Null for mail that goes out, and once the source was removed.',
  size_bytes: 'Size of the source in bytes. Null for mail that goes out.',
  omitted_text:
    'What `body` of the message leaves out of `text`: quotes, the signature, and what is beyond the longest body. The whole `text` where the body was changed since. Null where nothing is left out, and for mail that goes out or became no message.',
});

/** The mail of a conversation (docs/contract.md#email). */
export const ConversationEmail = Type.Object({
  object: Type.Literal('conversation_email'),
  conversation_id: Type.String(),
  inbox: Nullable(Inbox),
  subject: Nullable(Type.String()),
  to: Type.Array(Type.String()),
  cc: Type.Array(Type.String()),
  last_out: Nullable(Email),
  last_in: Nullable(Email),
  complaints: Since('1.4.harbor', Type.Array(EmailComplaint)),
});
export type ConversationEmail = Static<typeof ConversationEmail>;

describe(ConversationEmail, {
  inbox:
    'The inbox through which replies leave. Null where the conversation is not bridged, and once the inbox was deleted.',
  subject: 'Subject of the next reply, without `Re:`, unless it states another. Null without an inbox.',
  to: 'Whom the next reply goes to: the address that the last mail of the customer names, else the customers of the case. Empty without an inbox.',
  cc: 'Who is in copy of the next reply unless it states others: those of the last mail.',
  last_out: 'The last mail that went out or is to go out, with what became of it. Null while there is none.',
  last_in: 'The last mail that came in. Null while there is none.',
  complaints:
    'Complaints of the customers of the case and of the recipients of the next reply, to whom no mail is sent.',
});

/** The outcome of a mail at one inbox. */
const ReceivedMail = Type.Object({
  id: Type.String(),
  inbox_id: Nullable(Type.String()),
  status: OneOf(EMAIL_STATUSES),
  reason: Nullable(Type.String()),
  conversation_id: Nullable(Type.String()),
  message_id: Nullable(Type.String()),
});
describe(ReceivedMail, {
  id: 'Id of the mail at this inbox. The same mail, sent again, has the same id.',
  inbox_id: 'Id of the inbox.',
  status: '`accepted` as a message, or `ignored`.',
  reason: 'A code that says why the mail has its status. Null where there is nothing to say.',
  conversation_id: 'Id of the case. Null where the mail belongs to none.',
  message_id: 'Id of the message that the mail became. Null where there is none.',
});

/** The answer to a mail over HTTP (docs/contract.md#mail-that-comes-in). */
export const MailReceipt = Type.Object(
  { object: Type.Literal('mail_receipt'), mails: Type.Array(ReceivedMail) },
  { title: 'mail_receipt' },
);
export type MailReceipt = Static<typeof MailReceipt>;

describe(MailReceipt, { mails: 'The mail at each inbox that it is for. All of it is committed.' });
