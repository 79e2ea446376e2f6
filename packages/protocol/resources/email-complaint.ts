import { type Static, Type } from 'typebox';
import { describe, Identity, Nullable, Timestamp } from '../schema/schema.ts';

/** A complaint about a mail, which keeps mail from its address (docs/contract.md#complaints). */
export const EmailComplaint = Type.Object({
  ...Identity('email_complaint'),
  address: Type.String(),
  kind: Type.String(),
  email_id: Type.String(),
  conversation_id: Nullable(Type.String()),
  created_at: Timestamp,
});
export type EmailComplaint = Static<typeof EmailComplaint>;

describe(EmailComplaint, {
  address: 'The address to which no mail is sent, in lower case.',
  kind: 'The `Feedback-Type` that its service reported, such as `abuse`. The set is open-ended.',
  email_id: 'Id of the mail that the complaint is about.',
  conversation_id: 'Id of the case of that mail. Null once the mail is gone.',
});
