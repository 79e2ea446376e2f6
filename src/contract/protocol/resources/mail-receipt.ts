import { type Static, Type } from 'typebox';
import { describe, Nullable, OneOf } from '../schema/schema.ts';
import { EMAIL_STATUSES } from './email.ts';

/** What became of a mail at one inbox. */
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

describe(MailReceipt, {
  mails: 'The mail at each inbox that it is for. All of it is committed.',
});
