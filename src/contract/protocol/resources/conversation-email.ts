import { type Static, Type } from 'typebox';
import { describe, Nullable } from '../schema/schema.ts';
import { Email } from './email.ts';
import { Inbox } from './inbox.ts';

/** How mail of a conversation travels (docs/contract.md#email). */
export const ConversationEmail = Type.Object({
  object: Type.Literal('conversation_email'),
  conversation_id: Type.String(),
  inbox: Nullable(Inbox),
  subject: Nullable(Type.String()),
  to: Type.Array(Type.String()),
  cc: Type.Array(Type.String()),
  last_out: Nullable(Email),
  last_in: Nullable(Email),
});
export type ConversationEmail = Static<typeof ConversationEmail>;

describe(ConversationEmail, {
  conversation_id: 'Id of the conversation.',
  inbox:
    'The inbox through which replies leave. Null where the conversation is not bridged, and once the inbox was deleted.',
  subject: 'Subject of the next reply, without `Re:`, unless it states another. Null without an inbox.',
  to: 'Whom the next reply goes to: the address that the last mail of the customer names, else the customers of the case. Empty without an inbox.',
  cc: 'Who is in copy of the next reply unless it states others: those of the last mail.',
  last_out: 'The last mail that went out or is to go out, with what became of it. Null while there is none.',
  last_in: 'The last mail that came in. Null while there is none.',
});
